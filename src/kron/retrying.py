"""Retrying: a write that must not be lost is tried until the store takes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kron.clock import Timer

FIRST = 0.5  # seconds before the second try, then doubled
SLOWEST = 5.0  # seconds between two tries: what holds a lease must be heard of soon after an outage
T = TypeVar("T")


async def until_written(
    write: Callable[[], Awaitable[T]], timer: Timer, *, failed: Callable[[Exception], None], longest: float
) -> T:
    """The result of a write, tried again for `longest` seconds; then its last error is raised.

    `failed` hears of the first failure alone.
    """
    began, pause = timer.monotonic(), FIRST
    while True:
        try:
            return await write()
        except Exception as error:
            if timer.monotonic() - began > longest:
                raise
            if pause == FIRST:
                failed(error)
        await timer.sleep(pause)
        pause = min(2 * pause, SLOWEST)
