"""A store that is watched: who wrote what, and whether it held. It changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.stores.memory import MemoryStore
from tests.simulation.history import History, Write


class Watched:
    """One caller's view of the store. What is only read goes straight to it."""

    def __init__(self, store: MemoryStore, history: History, who: str) -> None:
        self.store, self.history, self.who = store, history, who

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def commit(self, settlements: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        return self._saw(settlements, now, await self.store.commit(settlements, now, together=together))

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        return self._saw(changes, now, await self.store.update_runs(changes, now))

    def _saw(self, wanted: Sequence[ScheduleUpdate | RunUpdate], now: int, held: list[bool]) -> list[bool]:
        at, shown = self.store.clock.loop.time(), int(self.store.clock.now() * 1000)
        for what, yes in zip(wanted, held, strict=True):
            if yes:
                self.history.writes.append(Write(at, now, shown, self.who, what))
            else:
                self.history.refused += 1
        return held
