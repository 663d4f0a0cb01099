"""Maintenance: hourly store maintenance by a worker, so that operators need no job for it."""

from __future__ import annotations

import random
from contextlib import AbstractAsyncContextManager, suppress

from kron.engine.background import in_background
from kron.engine.clock import Timer
from kron.engine.events import Event, Sink, silent
from kron.engine.store import Store

DAY_MS = 86_400_000
RETENTION_DAYS = 90
INTERVAL_SECONDS = 3_600.0
MAX_FIRST_DELAY_SECONDS = 60.0  # maximum time until the first round
MAX_CALLS_PER_ROUND = 500  # maximum calls of the store in one round, each of them bounded
CALL_PAUSE_SECONDS = 0.05  # between two calls: passes have priority


class Maintenance:
    """Hourly caller of `Store.maintain`, at a random time. A failure is reported as an event, and never raised."""

    def __init__(self, store: Store, timer: Timer, *, days: int | None = RETENTION_DAYS, sink: Sink = silent) -> None:
        """Set the retention: `days` that records of ended runs are kept; None keeps them permanently."""
        self.store, self.timer, self.sink = store, timer, sink
        self.keep = None if days is None else days * DAY_MS

    async def run(self) -> None:
        """Maintain the store until canceled."""
        # spreads the workers
        await self.timer.sleep(random.uniform(MAX_FIRST_DELAY_SECONDS / 10, MAX_FIRST_DELAY_SECONDS))  # noqa: S311
        while True:
            await self.once()
            await self.timer.sleep(random.uniform(0.9, 1.1) * INTERVAL_SECONDS)  # noqa: S311

    async def once(self) -> int:
        """Maintain the store now, with a bounded amount of work. Returns how many records were removed."""
        removed = 0
        try:
            for _ in range(MAX_CALLS_PER_ROUND):
                result = await self.store.maintain(await self.store.now(), self.keep)
                removed += result.removed
                if not result.more:
                    break
                await self.timer.sleep(CALL_PAUSE_SECONDS)
        except Exception as error:
            self._emit(Event("maintenance_failed", 0, {"error": repr(error)}))
        return removed

    def _emit(self, event: Event) -> None:
        with suppress(Exception):  # a sink cannot stop maintenance
            self.sink(event)


def maintaining(maintenance: Maintenance) -> AbstractAsyncContextManager[None]:
    """Maintain the store while the body of the `with` statement runs."""
    return in_background(maintenance.run())
