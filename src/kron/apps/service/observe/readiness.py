"""Readiness: whether a worker is able to take over. A standby without a shard is ready."""

from __future__ import annotations

import asyncio

from kron.engine.clock import Timer
from kron.engine.events import Event
from kron.engine.store import Store

STORE_TIMEOUT_SECONDS = 2.0  # time limit for the answer of the store


class Readiness:
    """Sink that observes a worker's passes. A pass renews the lease or stands by; either worker can take over."""

    def __init__(self, timer: Timer, lease_ms: int) -> None:
        self.timer, self.lease = timer, lease_ms / 1000
        self.passed_at: float | None = None  # timer value at the end of the last pass
        self.skewed_at: int | None = None

    def __call__(self, event: Event) -> None:
        """Process an event."""
        if event.name == "clock_skew_exceeded":
            self.skewed_at = event.at
        elif event.name == "pass" and event.at != self.skewed_at:
            self.passed_at, self.skewed_at = self.timer.monotonic(), None

    def problem(self) -> str:
        """Return why the worker cannot take over; empty if it can."""
        if self.skewed_at is not None:
            return "the clock skew between this host and the store is too large"
        if self.passed_at is None:
            return "the worker has not completed a pass yet"
        if self.timer.monotonic() - self.passed_at > self.lease:
            return "the worker's passes have failed for longer than its lease"
        return ""


async def not_ready(store: Store, worker: Readiness | None) -> str:
    """Return why a process is not ready; empty if it is ready.

    Args:
        store: Store that must answer within 2 seconds.
        worker: Readiness of the worker in this process; None without a worker.
    """
    try:
        await asyncio.wait_for(store.horizon(), STORE_TIMEOUT_SECONDS)  # reads from the records of every kind of store
    except Exception:
        return "the store is unavailable"
    return worker.problem() if worker else ""
