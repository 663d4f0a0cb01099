"""Calendar computations in a small thread pool, outside of the event loop, so that no request delays another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from kron.engine.tenant_scope import tenant_scope
from kron.rules.state import ScheduleState
from kron.rules.upcoming import search_upcoming
from kron.timing.due import Due

P = ParamSpec("P")
T = TypeVar("T")

SEARCH_SECONDS = 0.5  # time limit for the upcoming runs of a schedule whose constraints admit few times or none
_WORKERS = ThreadPoolExecutor(4, "kron-compute")  # not the event loop's default pool, which stores and files need
_TENANT_LOCKS: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


async def compute(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread of a small pool and return its result. Each tenant has at most one at a time."""
    loop = asyncio.get_running_loop()
    lock = _TENANT_LOCKS.setdefault((id(loop), tenant_scope()), asyncio.Lock())
    async with lock:
        return await loop.run_in_executor(_WORKERS, lambda: work(*args, **kwargs))


class TimeLimit:
    """Function that says whether a time has passed, for a search that then looks no further.

    Attributes:
        reached: Whether it has said so, and the search is not complete.
    """

    def __init__(self, end: float, clock: Callable[[], float]) -> None:
        self.end, self.clock, self.reached = end, clock, False

    def __call__(self) -> bool:
        """Return whether the time has passed."""
        self.reached = self.reached or self.clock() > self.end
        return self.reached


def time_limit(seconds: float, clock: Callable[[], float] = time.monotonic) -> TimeLimit:
    """Return a limit of so many seconds from now. With `time.thread_time`, a busy host does not change the result."""
    return TimeLimit(clock() + seconds, clock)


class UpcomingSearch(NamedTuple):
    """Upcoming runs, whether the search for them was complete, and whether it exceeded its time limit."""

    dues: list[Due]
    complete: bool
    timed_out: bool


async def upcoming_within_time(state: ScheduleState, now: int, count: int) -> UpcomingSearch:
    """Return the next runs of a schedule that are found within the time limit of a search."""
    return await compute(_search_upcoming, state, now, count)


def _search_upcoming(state: ScheduleState, now: int, count: int) -> UpcomingSearch:
    out_of_time = time_limit(SEARCH_SECONDS)
    dues, complete = search_upcoming(state, now, count, out_of_time)
    return UpcomingSearch(dues, complete, not complete and out_of_time())
