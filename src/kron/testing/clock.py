"""Clocks of a virtual loop: a wall clock that can be set, and a monotonic timer."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualClock:
    """Wall clock that advances with a loop, from `start` (seconds since 1970-01-01 UTC). A test can make it jump."""

    def __init__(self, loop: AbstractEventLoop, start: float = 0.0) -> None:
        self.loop, self.start, self.offset = loop, start, 0.0

    def now(self) -> float:
        """Return the current time in seconds since 1970-01-01 UTC."""
        return self.start + self.loop.time() + self.offset

    def step(self, seconds: float) -> None:
        """Set the clock forward by `seconds`, or back if negative."""
        self.offset += seconds


class VirtualTimer:
    """Monotonic timer that measures and waits in the time of a loop."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = loop

    def monotonic(self) -> float:
        """Return the loop time in seconds. Only differences are meaningful."""
        return self.loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of loop time."""
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`. Raises TimeoutError if it takes longer than `seconds` of loop time."""
        async with asyncio.timeout(seconds):
            return await work
