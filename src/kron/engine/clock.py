"""Clock and timer: the only code that reads the time and sleeps. All other code is given both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Source of the current time, in seconds since 1970-01-01T00:00:00Z."""

    def now(self) -> float:
        """Return the current time."""


class Timer(Protocol):
    """Monotonic time and sleeping, independent of the wall clock."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment. Never decreases."""

    async def sleep(self, seconds: float) -> None:
        """Sleep for some seconds."""

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`.

        Raises:
            TimeoutError: If the work takes longer than `seconds`.
        """


class SystemClock:
    """Clock of this host."""

    def now(self) -> float:
        """Return the current time."""
        return time.time()


class SystemTimer:
    """Timer of the running event loop."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep for some seconds."""
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, or raise TimeoutError."""
        async with asyncio.timeout(seconds):
            return await work


def seconds_to_quiet(now: float) -> float:
    """Return the seconds until the second half of a second; 0 in that half. Work that can wait is done there.

    Runs are due when a second begins, so workers have less to do in its second half.
    """
    return max(0.0, 0.5 - now % 1)


class ManualClock:
    """Clock for tests: it stands still until it is advanced."""

    def __init__(self, now: float = 0.0) -> None:
        self.time = now

    def now(self) -> float:
        """Return the current time."""
        return self.time

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self.time += seconds
