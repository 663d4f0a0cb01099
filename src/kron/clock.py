"""The one place that asks what time it is, and waits. Everything else is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Tells the current instant, in seconds from 1970-01-01T00:00:00Z."""

    def now(self) -> float:
        """The current instant."""


class Timer(Protocol):
    """Measures and waits; it knows no wall clock."""

    def monotonic(self) -> float:
        """Seconds from some moment on, never going back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work, if it comes in time; TimeoutError if not."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """The current instant."""
        return time.time()


class SystemTimer:
    """The timer of the running event loop."""

    def monotonic(self) -> float:
        """Seconds from some moment on."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work, if it comes in time."""
        async with asyncio.timeout(seconds):
            return await work


class ManualClock:
    """A clock that stands still until it is told otherwise: for tests."""

    def __init__(self, now: float = 0.0) -> None:
        self.time = now

    def now(self) -> float:
        """The current instant."""
        return self.time

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds
