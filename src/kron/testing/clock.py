"""Clocks of a virtual loop: one that people set, and one that only measures."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualClock:
    """A wall clock that goes with a loop, from `start` on. It can be set, and then jumps, as clocks do."""

    def __init__(self, loop: AbstractEventLoop, start: float = 0.0) -> None:
        self.loop, self.start, self.offset = loop, start, 0.0

    def now(self) -> float:
        """The current instant."""
        return self.start + self.loop.time() + self.offset

    def step(self, seconds: float) -> None:
        """Set it forward, or back."""
        self.offset += seconds


class VirtualTimer:
    """Measures and waits by a loop."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = loop

    def monotonic(self) -> float:
        """Seconds from some moment on."""
        return self.loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work, if it comes in time."""
        async with asyncio.timeout(seconds):
            return await work
