"""Maintenance: what a worker does for its store once an hour, so that nobody has to think of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from kron.clock import Timer
from kron.events import Event, Sink, silent
from kron.store import Store

DAY_MS = 86_400_000
RETENTION_DAYS = 90
EVERY_S = 3_600.0
FIRST_S = 60.0  # until the first round, at most
ROUNDS = 500  # calls of the store in a row, each of them bounded
BREATH_S = 0.05  # between two of them: ticks come first


class Maintenance:
    """Calls `Store.maintain` once an hour, at a time of its own. A failure is told, and never raised."""

    def __init__(self, store: Store, timer: Timer, *, days: int | None = RETENTION_DAYS, sink: Sink = silent) -> None:
        """`days` is the retention: how long the records of ended runs are kept; None keeps them permanently."""
        self.store, self.timer, self.sink = store, timer, sink
        self.keep = None if days is None else days * DAY_MS

    async def run(self) -> None:
        """Maintain the store until cancelled."""
        await self.timer.sleep(random.uniform(FIRST_S / 10, FIRST_S))  # noqa: S311  so that workers do not meet
        while True:
            await self.once()
            await self.timer.sleep(random.uniform(0.9, 1.1) * EVERY_S)  # noqa: S311

    async def once(self) -> int:
        """Do what is to be done now, a bounded part of it. Returns how many records were removed."""
        removed = 0
        try:
            for _ in range(ROUNDS):
                done = await self.store.maintain(await self.store.now(), self.keep)
                removed += done.removed
                if not done.more:
                    break
                await self.timer.sleep(BREATH_S)
        except Exception as error:
            self._tell(Event("maintenance_failed", 0, {"error": repr(error)}))
        return removed

    def _tell(self, event: Event) -> None:
        with suppress(Exception):  # who listens cannot stop it
            self.sink(event)


@asynccontextmanager
async def maintaining(maintenance: Maintenance) -> AsyncIterator[None]:
    """Maintain the store while something else is done."""
    task = asyncio.ensure_future(maintenance.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
