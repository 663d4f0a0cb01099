"""Readiness: whether a worker is able to take over. A standby without a shard is ready."""

from __future__ import annotations

import asyncio

from kron.clock import Timer
from kron.events import Event
from kron.store import Store

STORE_S = 2.0  # seconds in which the store has to answer


class Readiness:
    """A sink that hears the passes of a worker. A pass renews the lease, or stands by: both are able to take over."""

    def __init__(self, timer: Timer, lease_ms: int) -> None:
        self.timer, self.lease = timer, lease_ms / 1000
        self.passed: float | None = None  # when the last pass came to its end, by the timer
        self.astray: int | None = None

    def __call__(self, event: Event) -> None:
        """Hear an event."""
        if event.name == "clock_astray":
            self.astray = event.at
        elif event.name == "pass" and event.at != self.astray:
            self.passed, self.astray = self.timer.monotonic(), None

    def problem(self) -> str:
        """Return why the worker could not take over; empty if it could."""
        if self.astray is not None:
            return "the clock of this host and the store's disagree"
        if self.passed is None:
            return "the worker has made no pass yet"
        if self.timer.monotonic() - self.passed > self.lease:
            return "the worker's passes have failed for longer than its lease"
        return ""


async def not_ready(store: Store, worker: Readiness | None) -> str:
    """Return why a process is not ready; empty if it is. `worker`: of the worker inside, if there is one."""
    try:
        await asyncio.wait_for(store.horizon(), STORE_S)  # which every store reads where it keeps its records
    except Exception:
        return "the store does not answer"
    return worker.problem() if worker else ""
