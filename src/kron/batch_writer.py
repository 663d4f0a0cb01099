"""The batch writer: writes entries together, and keeps and retries what it could not write.

Entries that come while others are being written wait, and are written together by one task. If a write fails, its
entries stay, in smaller batches until the one that cannot be written is alone. It alone is given up, when `given_up`
says so. While the store fails everything, nothing is given up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from kron.clock import Timer

T = TypeVar("T")

BATCH = 1_000  # entries written together
FIRST_WAIT, LONGEST_WAIT = 0.05, 1.0  # seconds between two tries of a write that failed


class BatchWriter(Generic[T]):
    """Writes what is put into it, in order, by `write`; `given_up` says which are of no use any more."""

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
        self.written: float | None = None  # when a write last succeeded, by the timer
        self.task: asyncio.Task[None] | None = None

    def put(self, entry: T) -> None:
        """Write an entry soon."""
        self.waiting.append(entry)
        if self.task is None or self.task.done():
            self.task = asyncio.ensure_future(self._write_all())

    async def drain(self) -> None:
        """Wait until nothing is left to write."""
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
        """Try again with half as many; one that fails alone goes to the end, behind those that may succeed."""
        if len(some) > 1:
            self.waiting.extendleft(reversed(some))
        elif not self.given_up(some[0]):
            self.waiting.append(some[0])
        self.size = max(1, min(self.size, len(some)) // 2)
