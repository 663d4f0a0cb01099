"""The audit log: who asked for which change, when, from where, and what came of it. A line each, chained by hashes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kron.clock import Clock

FIRST = "0" * 64
LONGEST = 64 * 1024  # of a line
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Audit:
    """Writes to a file, after what is there. Each line holds the hash of the line before it. One process, one file."""

    def __init__(self, path: str, clock: Clock) -> None:
        self.path, self.clock = Path(path) if path else None, clock
        self.last = _last(self.path)

    def record(self, facts: dict[str, Any]) -> None:
        """Write a line."""
        if self.path is None:
            return
        entry = {"at": int(self.clock.now() * 1000), **facts, "before": self.last}
        text = json.dumps(entry, sort_keys=True)
        self.last = sha256(text.encode()).hexdigest()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def broken(lines: Iterable[str]) -> int | None:
    """The number of the first line that does not follow from the one before it; None if all do."""
    before = FIRST
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\n")
        try:
            if json.loads(text)["before"] != before:
                return number
        except (ValueError, KeyError, TypeError):
            return number
        before = sha256(text.encode()).hexdigest()
    return None


def _last(path: Path | None) -> str:
    if path is None or not path.exists():
        return FIRST
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LONGEST))
        lines = file.read().splitlines()
    return sha256(lines[-1]).hexdigest() if lines else FIRST


class Audited:
    """Records every request that may change something, when its answer is known: also those that were refused."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and remember it."""
        if scope["type"] != "http" or scope["method"] not in CHANGING:
            await self.app(scope, receive, send)
            return
        recorded = False

        def record(status: int) -> None:
            nonlocal recorded
            if not recorded:
                scope["app"].state.parts.audit.record(_facts(scope, status))
            recorded = True

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                record(message["status"])  # before the caller can know
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            record(500)


def _facts(scope: Scope, status: int) -> dict[str, Any]:
    caller = scope.get("state", {}).get("caller")
    route = scope.get("route")
    return {
        "who": caller.who if caller else None,
        "tenant": caller.tenant if caller else None,
        "token": caller.token if caller else None,
        "address": (scope.get("client") or ("", 0))[0],
        "method": scope["method"],
        "route": getattr(route, "path", None),
        "path": scope["path"][:300],
        "status": status,
    }
