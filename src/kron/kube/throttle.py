"""Throttle: a rate limit for requests, with priorities. It slows down when the API server asks for it.

The rate is halved when the server answers 429, and grows again with requests that succeed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from heapq import heappop, heappush
from itertools import count
from time import monotonic

RECOVERY_SHARE = 0.05  # of the full rate, by which a slowed rate grows
ADJUST_SECONDS = 1.0  # minimum time between two changes of the rate: answers that arrive together count once
MIN_RATE = 1.0  # requests per second
MAX_YIELD_SECONDS = 0.5  # for which a request that can wait does so while Jobs are being created


class Priority(IntEnum):
    """Order in which requests are sent: the lowest number first."""

    START = 0  # create the Job of a run
    REPLACE = 1  # delete a Job for the run that replaces it, and read Jobs that are in doubt
    STATUS = 2
    EVENT = 3
    HISTORY = 4  # delete Jobs beyond the history limits


class Throttle:
    """Rate limit of one client.

    Args:
        qps: Requests per second.
        burst: Requests that can be sent at once after a pause.
        clock: Returns seconds that never go back.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        self.full_rate = self.rate = qps
        self.burst, self.clock = burst, clock
        self.requests: Counter[tuple[str, int]] = Counter()  # by method and status; 0: no answer
        self.waited = 0.0  # seconds that requests have waited for their turn, in total
        self._tokens, self._filled_at = float(burst), clock()
        self._adjusted_at = clock() - ADJUST_SECONDS
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._wake_up: asyncio.TimerHandle | None = None
        self._starts, self._is_calm = 0, asyncio.Event()
        self._is_calm.set()

    @property
    def depth(self) -> int:
        """Number of requests that wait for their turn."""
        return len(self._waiting)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Mark that a Job is being created: statuses and what is less important wait a little."""
        self._starts += 1
        self._is_calm.clear()
        try:
            yield
        finally:
            self._starts -= 1
            if not self._starts:
                self._is_calm.set()

    async def turn(self, priority: Priority) -> None:
        """Wait until a request of this priority can be sent."""
        began = self.clock()
        try:
            if priority >= Priority.STATUS and self._starts:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MAX_YIELD_SECONDS):
                        await self._is_calm.wait()
            await self._take_token(priority)
        finally:
            self.waited += self.clock() - began

    async def _take_token(self, priority: Priority) -> None:
        self._fill()
        if not self._waiting and self._tokens >= 1:
            self._tokens -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (priority, next(self._numbers), turn))
        self._serve_later()
        await turn

    def slow_down(self) -> None:
        """Halve the rate: the server has answered that it is asked too often."""
        if self._may_adjust():
            self.rate = max(min(MIN_RATE, self.full_rate), self.rate / 2)
            self._tokens = min(self._tokens, self.rate)

    def speed_up(self) -> None:
        """Let a slowed rate grow: a request has succeeded."""
        if self.rate < self.full_rate and self._may_adjust():
            self.rate = min(self.full_rate, self.rate + RECOVERY_SHARE * self.full_rate)

    def _may_adjust(self) -> bool:
        now = self.clock()
        if now - self._adjusted_at < ADJUST_SECONDS:
            return False
        self._fill()
        self._adjusted_at = now
        return True

    def _fill(self) -> None:
        now = self.clock()
        self._tokens = min(float(self.burst), self._tokens + (now - self._filled_at) * self.rate)
        self._filled_at = now

    def _serve_later(self) -> None:
        if self._wake_up is None and self._waiting:
            seconds = max(0.0, (1 - self._tokens) / self.rate)
            self._wake_up = asyncio.get_running_loop().call_later(seconds, self._serve)

    def _serve(self) -> None:
        self._wake_up = None
        self._fill()
        while self._waiting and self._tokens >= 1:
            _, _, turn = heappop(self._waiting)
            if not turn.done():  # a request that was canceled takes nothing
                turn.set_result(None)
                self._tokens -= 1
        self._serve_later()
