"""Slots: how many functions run at once, and whether slots have become free or taken just now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Slots:
    """A number of slots. Those who wait for one get it in the order of their requests."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._semaphore = asyncio.Semaphore(size)
        self._taken = 0
        self._changed_at = float("-inf")  # loop time at which a slot was taken or freed last
        self.on_free: Callable[[], None] = lambda: None  # called when a slot was freed

    @property
    def full(self) -> bool:
        """Whether the next request has to wait."""
        return self._semaphore.locked()

    @property
    def free_count(self) -> int:
        """How many slots are free."""
        return self.size - self._taken

    def idle_seconds(self) -> float:
        """Return for how many seconds no slot was taken or freed."""
        return asyncio.get_running_loop().time() - self._changed_at

    async def take(self) -> None:
        """Take a slot, as soon as one is free."""
        await self._semaphore.acquire()
        self._taken += 1
        self._changed_at = asyncio.get_running_loop().time()

    def free(self) -> None:
        """Free a slot."""
        self._semaphore.release()
        self._taken -= 1
        self._changed_at = asyncio.get_running_loop().time()
        self.on_free()
