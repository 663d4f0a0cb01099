"""Withheld runs: those that found no free slot in this process. When a slot is free, the oldest one is launched.

A withheld run is recorded as not sent. If this process is gone, any other one launches it after RETRY_MS.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kron.engine.store import Store
from kron.launchers.slots import Slots
from kron.rules.run_state import State
from kron.rules.update import RunUpdate

RETRY_MS = 30_000  # milliseconds after which a withheld run is launched again without being woken
MAX_BATCH = 500  # runs in one write
MAX_KEPT = 10_000  # runs that are woken when a slot is free; the others come back by themselves
log = logging.getLogger("kron.scheduler")


class WithheldRuns:
    """Keys of the runs that wait for some slots, the oldest first."""

    def __init__(self, slots: Slots, store: Store) -> None:
        self.slots, self.store = slots, store
        self.keys: dict[str, None] = {}
        self.waking: asyncio.Task[None] | None = None
        self.on_wake: Callable[[], None] = lambda: None  # has the worker look at the store
        slots.on_free = self.wake

    def add(self, key: str) -> int:
        """Add a run. Returns after how many milliseconds it is launched again if no slot is free before."""
        if len(self.keys) < MAX_KEPT:
            self.keys.setdefault(key)
        return RETRY_MS

    def forget(self, key: str) -> None:
        """Remove a run: it starts now, or somewhere else."""
        self.keys.pop(key, None)

    def wake(self) -> None:
        """Let the oldest runs be launched, as many as there are free slots."""
        if self.keys and (self.waking is None or self.waking.done()):
            self.waking = asyncio.get_running_loop().create_task(self._wake_oldest())

    async def release(self) -> None:
        """Let all runs be launched by other processes at once, because this one stops."""
        while self.keys and await self._bring_forward(MAX_BATCH):
            pass

    async def _wake_oldest(self) -> None:
        while self.keys and self.slots.free_count and await self._bring_forward(self.slots.free_count):
            self.on_wake()

    async def _bring_forward(self, count: int) -> bool:
        """Let the oldest runs be launched now. Returns False if the store failed: they come back by themselves."""
        keys = list(self.keys)[: min(count, MAX_BATCH)]
        for key in keys:
            self.forget(key)
        try:
            runs, now = await self.store.runs_by_key(keys), await self.store.now()
            waiting = [run for run in runs if run and run.state is State.RETRY and run.not_before > now]
            updates = [RunUpdate(run, run._replace(not_before=now, changed=now), now) for run in waiting]
            await self.store.update_runs(updates, now)
        except Exception as error:
            log.warning("runs that wait for a free slot could not be woken: %s", error)
            return False
        return True
