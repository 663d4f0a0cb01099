"""Compute: work on calendars, away from the event loop and within a bound, so that no request holds up another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel
from starlette.responses import Response

from kron.coming import coming
from kron.core.case import Case
from kron.core.due import Due
from kron.within import within

P = ParamSpec("P")
T = TypeVar("T")

SECONDS = 0.5  # for the coming runs of a schedule whose constraints admit few or none
_WORKERS = ThreadPoolExecutor(4, "kron-compute")  # not the loop's own pool, which stores and files need
_TURNS: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


async def compute(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the function returns. It runs in a thread of a small pool; each tenant has one at a time."""
    loop = asyncio.get_running_loop()
    turn = _TURNS.setdefault((id(loop), within()), asyncio.Lock())
    async with turn:
        return await loop.run_in_executor(_WORKERS, lambda: work(*args, **kwargs))


async def written(make: Callable[[], BaseModel]) -> Response:
    """The answer that is made and written in a thread: a page of 1,000 entries takes a while."""
    text = await compute(lambda: make().model_dump_json())
    return Response(text, media_type="application/json")


async def coming_soon(case: Case, now: int, count: int) -> tuple[list[Due], bool]:
    """The next runs of a schedule, and whether all that were asked for were looked for: not if it took too long."""
    return await compute(_coming, case, now, count)


def _coming(case: Case, now: int, count: int) -> tuple[list[Due], bool]:
    end = time.monotonic() + SECONDS
    cut = False

    def enough() -> bool:
        nonlocal cut
        cut = time.monotonic() > end
        return cut

    found = coming(case, now, count, enough)
    return found, not cut
