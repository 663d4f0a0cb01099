"""Audit log of the API server: who has called what, and when, in microseconds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

CRONJOB_CONTROLLER, OPERATOR = "cronjob-controller", "kron/"  # in the user agents
READS = frozenset({"list", "watch"})  # of the local copies; they do not depend on the number of runs
QUIET_SECONDS, PATIENCE_SECONDS = 3.0, 600.0  # statuses are written every 2 s
POLL_SECONDS = 0.5


class Call(NamedTuple):
    """Request that the API server has answered. Times are in seconds."""

    at: float
    agent: str
    verb: str
    resource: str  # with the subresource
    namespace: str
    name: str
    code: int
    is_dry_run: bool

    @property
    def is_job_creation(self) -> bool:
        """Whether a Job was created."""
        return self.verb == "create" and self.resource == "jobs" and self.code == 201 and not self.is_dry_run


class AuditLog:
    """Reader of the log. It keeps the calls of the operator and of the CronJob controller."""

    def __init__(self, path: Path) -> None:
        self.path, self.calls = path, list[Call]()
        self._offset = 0

    def read(self) -> list[Call]:
        """Read what is new, and return all calls."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
        text = text[: text.rfind(b"\n") + 1]
        self._offset += len(text)
        for line in text.splitlines():
            if CRONJOB_CONTROLLER.encode() in line or b'"userAgent":"' + OPERATOR.encode() in line:
                self.calls.append(call_of(json.loads(line)))
        return self.calls

    def since(self, began: float, agent: str) -> list[Call]:
        """Return the calls of a client since a time, without lists and watches."""
        return [call for call in self.read() if call.at >= began and agent in call.agent and call.verb not in READS]

    def quiet(self, agent: str, began: float = 0.0, seconds: float = QUIET_SECONDS) -> float:
        """Wait until a client has called nothing for some seconds; return the time of its last call."""
        deadline = time.time() + PATIENCE_SECONDS
        while time.time() < deadline:
            last = max((call.at for call in self.since(began, agent)), default=began)
            if time.time() - max(last, began) > seconds:
                return last
            time.sleep(POLL_SECONDS)
        raise SystemExit(f"FAIL: {agent} is not quiet after {PATIENCE_SECONDS:.0f} s")

    def until(self, condition: Callable[[], bool], seconds: float, pause: float = POLL_SECONDS) -> bool:
        """Wait for a condition, and return whether it came."""
        deadline = time.time() + seconds
        while not condition():
            if time.time() > deadline:
                return False
            time.sleep(pause)
        return True


def call_of(event: dict[str, Any]) -> Call:
    """Return the call that a line tells."""
    target = event.get("objectRef") or {}
    resource = "/".join(filter(None, [target.get("resource", ""), target.get("subresource", "")]))
    return Call(
        datetime.fromisoformat(event["stageTimestamp"]).timestamp(),
        event.get("userAgent", ""),
        event["verb"],
        resource,
        target.get("namespace", ""),
        target.get("name", ""),
        (event.get("responseStatus") or {}).get("code", 0),
        "dryRun=" in event.get("requestURI", ""),
    )
