"""Retrying: a write that must not be lost is retried until the store accepts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kron.engine.clock import Timer

FIRST = 0.5  # seconds before the second attempt, then doubled
SLOWEST = 5.0  # seconds between two attempts: lease holders must report soon after an outage
T = TypeVar("T")


async def until_written(
    write: Callable[[], Awaitable[T]], timer: Timer, *, failed: Callable[[Exception], None], longest: float
) -> T:
    """Return the result of a write, which is retried for `longest` seconds.

    Args:
        write: The write.
        timer: Measures and sleeps.
        failed: Called with the first failure only.
        longest: Seconds after which the last error is raised.
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
