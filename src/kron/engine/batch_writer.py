"""Batch writer: writes entries together, and keeps and retries entries that it could not write.

Entries that arrive while others are being written wait, and one task writes them together. If a write fails, its
entries are retried in smaller batches, until the entry that cannot be written is alone. `given_up` decides which
entries are dropped instead.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from kron.engine.clock import Timer

T = TypeVar("T")

MAX_BATCH_SIZE = 1_000  # entries written together
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.05, 1.0  # seconds between two attempts of a write that failed


class BatchWriter(Generic[T]):
    """Writer of entries, in order."""

    def __init__(
        self,
        write: Callable[[list[T]], Awaitable[None]],
        timer: Timer,
        given_up: Callable[[T, Exception, bool], bool],
        failed: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        """Create a writer.

        Args:
            write: Writes entries, all or none of them.
            timer: Waits between two attempts.
            given_up: Called for each entry of a failed write with the error, and with whether the entry was written
                alone. Returns whether to drop the entry.
            failed: Called with the error of each failed write.
        """
        self.write, self.timer, self.given_up, self.failed = write, timer, given_up, failed
        self.waiting: deque[T] = deque()
        self.size = MAX_BATCH_SIZE
        self.written: float | None = None  # timer time of the last successful write
        self.task: asyncio.Task[None] | None = None

    def put(self, entry: T) -> None:
        """Add an entry, to be written soon."""
        self.waiting.append(entry)
        self._start()

    @property
    def busy(self) -> bool:
        """Whether entries are waiting or being written."""
        return bool(self.waiting) or (self.task is not None and not self.task.done())

    async def drain(self) -> None:
        """Wait until all entries are written."""
        while self.busy:
            await asyncio.wait({self._start()})

    def _start(self) -> asyncio.Task[None]:
        """Return the task that writes the entries; a new one if there is none."""
        if self.task is None or self.task.done():
            self.task = asyncio.ensure_future(self._write_all())
        return self.task

    async def _write_all(self) -> None:
        retry_delay = MIN_RETRY_SECONDS
        while self.waiting:
            entries = [self.waiting.popleft() for _ in range(min(self.size, len(self.waiting)))]
            try:
                await self.write(entries)
            except asyncio.CancelledError:  # another task writes the entries: their owners may still wait for them
                self.waiting.extendleft(reversed(entries))
                # Not at once: if the event loop is about to end, the new task could not.
                asyncio.get_running_loop().call_later(MIN_RETRY_SECONDS, self._start)
                raise
            except Exception as error:
                self.failed(error)
                self._requeue(entries, error)
                if len(entries) == 1:  # smaller batches are tried at once
                    await self.timer.sleep(retry_delay)
                    retry_delay = min(MAX_RETRY_SECONDS, retry_delay * 2)
            else:
                self.size, retry_delay = min(MAX_BATCH_SIZE, self.size * 2), MIN_RETRY_SECONDS
                self.written = self.timer.monotonic()

    def _requeue(self, entries: list[T], error: Exception) -> None:
        """Retry with half as many entries. An entry that fails alone goes to the end, behind those that may succeed."""
        alone = len(entries) == 1
        remaining = [entry for entry in entries if not self.given_up(entry, error, alone)]
        if alone:
            self.waiting.extend(remaining)
        else:
            self.waiting.extendleft(reversed(remaining))
        self.size = max(1, min(self.size, len(entries)) // 2)
