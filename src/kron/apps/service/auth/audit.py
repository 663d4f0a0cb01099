"""Audit log: who requests which change, when and from where, recorded before the change; then its result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.requests import Request

from kron.apps.service.auth.caller import Caller
from kron.apps.service.auth.chain import Chain
from kron.apps.service.auth.throttle import Throttle
from kron.engine.clock import Clock, SystemTimer
from kron.errors import InvalidSetting, Unavailable

CHANGING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
MAX_VALUE_LENGTH = 2_048  # maximum characters of a recorded value
MAX_FIELDS = 50  # fields of a body that are recorded
SELECTIONS = frozenset({"ids", "keys", "filter", "name"})  # fields that name the schedules or runs of a bulk request
MAX_SELECTED = 100  # items of such a field that are recorded, with their number
MAX_ITEM_LENGTH = 200  # characters of such an item
UNAUTHENTICATED_LINES_PER_MINUTE = 10  # lines about callers without a valid token; the rest are counted in one line


class Audit:
    """Writes an intent before each change and its result afterwards. A change that cannot be recorded is not made."""

    def __init__(self, path: str, clock: Clock) -> None:
        self.path, self.clock = path, clock
        self.chain: Chain | None = None
        self.number = self.synced = 0
        self.lock, self.unauthenticated = asyncio.Lock(), Throttle(SystemTimer(), UNAUTHENTICATED_LINES_PER_MINUTE)

    def open(self) -> None:
        """Open the file, if one is configured. Raise CONFIG if it is not writable."""
        self.chain = Chain(Path(self.path)) if self.path else None
        if self.chain and not self._try_write({"kind": "opened"}):
            hint = "set AUDIT_LOG to a writable file"
            raise InvalidSetting("CONFIG", f"the audit log {self.path} is not writable", hint=hint)

    async def intend(self, facts: Mapping[str, Any], body: Any = None) -> int:
        """Record an intended change durably, and return its number.

        Raises:
            Unavailable: That fails; then the change must not be made.
        """
        if not self.path:
            return 0
        try:
            number = self._write({"kind": "intent", **facts, **({} if body is None else {"asked": _shortened(body)})})
            await self._sync(number)
        except OSError:
            message = "the audit log is not writable, so changes are rejected"
            raise Unavailable("AUDIT", message, hint="ask the operator to repair the audit log") from None
        return number

    def result(self, intent: int, status: int) -> bool:
        """Record the result of an intent. Return False if it cannot be written."""
        return self._try_write({"kind": "result", "intent": intent, "status": status})

    def refused(self, facts: Mapping[str, Any], status: int) -> bool:
        """Record a rejected request. All unauthenticated callers together get a few lines per minute."""
        if facts.get("who") is not None:
            return self._try_write({"kind": "refused", **facts, "status": status})
        suppressed = self.unauthenticated.admit()
        if suppressed is None:
            return True
        suppressed_fact = {"unrecorded_before": suppressed} if suppressed else {}
        return self._try_write({"kind": "refused", **facts, "status": status, **suppressed_fact})

    def close(self) -> None:
        """Record how many unauthenticated requests were not recorded, and close the file."""
        if self.chain:
            suppressed = self.unauthenticated.drain()
            self._try_write({"kind": "closed", **({"unrecorded_before": suppressed} if suppressed else {})})
            self.chain.close()
            self.chain = None

    def _write(self, entry: dict[str, Any]) -> int:
        if not self.path:
            return 0
        if self.chain is None:
            raise OSError("the audit log is closed")
        self.chain.append({"n": self.number + 1, "at": int(self.clock.now() * 1000), **entry})
        self.number += 1
        return self.number

    def _try_write(self, entry: dict[str, Any]) -> bool:
        try:
            self._write(entry)
        except OSError:
            return False
        return True

    async def _sync(self, number: int) -> None:
        """Wait until a line is on disk; one sync serves all lines written before it."""
        async with self.lock:
            if self.synced < number and self.chain:
                last_number = self.number
                await asyncio.to_thread(self.chain.sync)
                self.synced = last_number


def check_audit(path: str) -> None:
    """Raise an error if the audit log is not writable."""
    if path:
        Chain(Path(path)).close()


def facts_of(request: Request, caller: Caller | None, address: str) -> dict[str, Any]:
    """Return who requests what, and from where."""
    route = request.scope.get("route")
    return {
        "who": caller.who if caller else None,
        "tenant": caller.tenant if caller else None,
        "token": caller.token if caller else None,
        "address": address,
        "method": request.method,
        "route": getattr(route, "path", None),
        "path": request.url.path[:300],
        "target": dict(request.path_params) if caller else {},
    }


def _shortened(body: Any) -> Any:
    """Return the request body without long values; a DAG is recorded by its hash."""
    if isinstance(body, Mapping):
        return {
            str(name)[:100]: _selection(value) if name in SELECTIONS else _value(value)
            for name, value in list(body.items())[:MAX_FIELDS]
        }
    if isinstance(body, Sequence) and not isinstance(body, str):
        return [_shortened(entry) for entry in body]
    return body[:MAX_VALUE_LENGTH] if isinstance(body, str) else body


def _value(value: Any) -> Any:
    if isinstance(value, str | int | float | bool) or value is None:
        return value[:MAX_VALUE_LENGTH] if isinstance(value, str) else value
    return {"sha256": sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()}


def _selection(value: Any) -> Any:
    """Return the first items of a selection with their number, or the fields of a filter; and the hash of the whole."""
    if isinstance(value, list):
        items = [str(item)[:MAX_ITEM_LENGTH] for item in value[:MAX_SELECTED]]
        return {"count": len(value), "first": items, **_value(value)}
    if isinstance(value, Mapping):
        items_of_filter = list(value.items())[:MAX_FIELDS]
        return {str(name)[:100]: str(item)[:MAX_ITEM_LENGTH] for name, item in items_of_filter}
    return _value(value)
