"""Work queue: KronJobs to look at again, each at most once per interval. What fails is tried again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from heapq import heappop, heappush

from kron.kube.kind import Place

MAX_RETRY_SECONDS = 60.0
MIN_RETRY_SECONDS = 0.5
BUSY_SECONDS = 0.1  # until the next look, while a KronJob is due that is still being worked on
log = logging.getLogger("kron.operator")


class WorkQueue:
    """Queue of KronJobs.

    Args:
        name: Name of the work, for the log.
        work: Does the work for one KronJob.
        interval: Seconds between two times at which the work is done for the same KronJob, and before the first.
        parallel: How many KronJobs are worked on concurrently.
    """

    def __init__(
        self, name: str, work: Callable[[Place], Awaitable[None]], *, interval: float = 0.0, parallel: int = 1
    ) -> None:
        self.name, self.work, self.interval, self.parallel = name, work, interval, parallel
        self._due: dict[Place, float] = {}
        self._order: list[tuple[float, Place]] = []
        self._done_at: dict[Place, float] = {}
        self._failures: dict[Place, int] = {}
        self._busy: set[Place] = set()
        self._changed = asyncio.Event()
        self._is_failing = False  # whether the last work has failed

    def put(self, place: Place, delay: float = 0.0) -> None:
        """Look at a KronJob again."""
        now = asyncio.get_running_loop().time()
        due = max(now + self.interval, self._done_at.get(place, 0.0) + self.interval, now + delay)
        if due < self._due.get(place, float("inf")):
            self._due[place] = due
            heappush(self._order, (due, place))
            self._changed.set()

    @property
    def depth(self) -> int:
        """Number of KronJobs that wait."""
        return len(self._due)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is being worked on."""
        return not self._due and not self._busy

    async def run(self) -> None:
        """Work until canceled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                delay = self._start_due(tasks)
                try:
                    async with asyncio.timeout(delay):
                        await self._changed.wait()
                except TimeoutError:
                    continue

    def _start_due(self, tasks: asyncio.TaskGroup) -> float | None:
        """Start what is due, and return the seconds until more is; None: until something changes."""
        now, postponed = asyncio.get_running_loop().time(), list[tuple[float, Place]]()
        while self._order and self._order[0][0] <= now and len(self._busy) < self.parallel:
            due, place = heappop(self._order)
            if self._due.get(place) != due:
                continue  # another entry has replaced it
            if place in self._busy:
                postponed.append((due, place))
                continue
            del self._due[place]
            self._busy.add(place)
            tasks.create_task(self._do(place))
        for entry in postponed:  # until the present work on them is done
            heappush(self._order, entry)
        if not self._order or len(self._busy) >= self.parallel:
            return None
        if postponed:
            return BUSY_SECONDS
        return max(0.0, self._order[0][0] - now)

    async def _do(self, place: Place) -> None:
        loop, failure = asyncio.get_running_loop(), None
        try:
            await self.work(place)
        except Exception as error:
            failure = error
        self._busy.discard(place)
        self._done_at[place] = loop.time()
        if len(self._done_at) > 4 * len(self._due) + 10_000:
            self._done_at = {p: at for p, at in self._done_at.items() if at + self.interval > loop.time()}
        if failure is None:
            self._failures.pop(place, None)
            self._is_failing = False
        else:
            count = self._failures[place] = self._failures.get(place, 0) + 1
            delay = min(MAX_RETRY_SECONDS, MIN_RETRY_SECONDS * 2 ** min(count, 10))
            level = logging.DEBUG if self._is_failing else logging.WARNING  # one line for each series of failures
            log.log(level, "%s of %s/%s failed, trying again in %.0f s: %s", self.name, *place, delay, failure)
            self._is_failing = True
            self.put(place, delay)
        self._changed.set()
