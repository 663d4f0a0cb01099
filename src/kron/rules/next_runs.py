"""Next runs of many schedules, in the order of their due times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kron.rules.state import ScheduleState
from kron.rules.upcoming import search_upcoming
from kron.timing.due import Due


def _never() -> bool:
    return False


class NextRun(NamedTuple):
    """Next run of a schedule."""

    at: int  # milliseconds: due time
    identity: str
    due: Due


def next_runs(
    states: Sequence[ScheduleState], now: int, limit: int, *, more: bool = False, enough: Callable[[], bool] = _never
) -> list[NextRun]:
    """Return the next runs of different schedules, in the order of their due times.

    Workers check a schedule also for other reasons than a due period. So the first schedule to be checked need not have
    the next run.

    Args:
        states: States of the schedules that workers check next, in this order.
        now: Current time in milliseconds. Only later runs are returned.
        limit: Maximum number of runs.
        more: There are more schedules, which are checked later. Then runs after the last check of `states` are left
            out, because one of the other schedules can run earlier.
        enough: Called before each step of a search. When it returns True, schedules whose next run is not found yet are
            left out.
    """
    found = list[NextRun]()
    for state in states:
        found += [NextRun(due.at, state.identity, due) for due in search_upcoming(state, now, 1, enough).dues]
    last_check = states[-1].next_check_at if more and states else None
    certain = [run for run in found if last_check is None or run.at <= last_check]
    return sorted(certain)[:limit]
