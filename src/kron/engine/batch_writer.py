"""Batch writer: writes entries together, and keeps and retries entries that it could not write.

Entries that arrive while others are being written wait, and one task writes them together. If a write fails, its
entries are retried in smaller batches, until the entry that cannot be written is alone. Only that entry is dropped,
when `given_up` says so. While the store fails all writes, no entry is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from kron.engine.clock import Timer

T = TypeVar("T")

BATCH = 1_000  # entries written together
FIRST_WAIT, LONGEST_WAIT = 0.05, 1.0  # seconds between two attempts of a write that failed


class BatchWriter(Generic[T]):
    """Writer of entries, in order, by `write`. `given_up` tells whether an entry is no longer of use."""

    def __init__(
        self,
        write: Callable[[list[T]], Awaitable[None]],
        timer: Timer,
        given_up: Callable[[T], bool],
        failed: Callable[[Exception], None],
    ) -> None:
        self.write, self.timer, self.given_up, self.failed = write, timer, given_up, failed
        self.waiting: deque[T] = deque()
        self.size = BATCH
        self.written: float | None = None  # timer time of the last successful write
        self.task: asyncio.Task[None] | None = None

    def put(self, entry: T) -> None:
        """Add an entry, to be written soon."""
        self.waiting.append(entry)
        if self.task is None or self.task.done():
            self.task = asyncio.ensure_future(self._write_all())

    async def drain(self) -> None:
        """Wait until all entries are written."""
        while self.task is not None and not self.task.done():
            await asyncio.wait({self.task})

    async def _write_all(self) -> None:
        wait = FIRST_WAIT
        while self.waiting:
            some = [self.waiting.popleft() for _ in range(min(self.size, len(self.waiting)))]
            try:
                await self.write(some)
            except Exception as error:
                self.failed(error)
                self._keep(some)
                await self.timer.sleep(wait)
                wait = min(LONGEST_WAIT, wait * 2)
            else:
                self.size, wait = min(BATCH, self.size * 2), FIRST_WAIT
                self.written = self.timer.monotonic()

    def _keep(self, some: list[T]) -> None:
        """Retry with half as many entries. An entry that fails alone goes to the end, behind those that may succeed."""
        if len(some) > 1:
            self.waiting.extendleft(reversed(some))
        elif not self.given_up(some[0]):
            self.waiting.append(some[0])
        self.size = max(1, min(self.size, len(some)) // 2)
