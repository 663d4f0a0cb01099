"""Agenda: the earliest upcoming runs of several schedules, found with bounded work."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from kron.apps.compute import time_limit
from kron.rules.state import ScheduleState
from kron.rules.upcoming import DueSearch
from kron.timing.due import Due

# Limits of processor time, so that a busy host does not change the result.
SEARCH_SECONDS = 2.0  # for all schedules
RUN_SECONDS = 0.25  # for one run of one schedule: its constraints can admit few times or none


class AgendaRun(NamedTuple):
    """An upcoming run, in the order of an agenda: by due time, then by schedule.

    Attributes:
        at: Due time, in milliseconds since 1970-01-01 UTC.
        identity: Identity of the schedule.
        nominal: Nominal time, in seconds since 1970-01-01 UTC.
    """

    at: int
    identity: str
    nominal: int


class _Next(NamedTuple):
    """Next run of a schedule, and the search for those after it.

    Before the search has begun, it has no nominal time, and `at` is a time before which no run is due.
    """

    at: int
    identity: str
    nominal: int | None
    dues: Iterator[Due]


class Agenda(NamedTuple):
    """Earliest runs of some schedules, in order.

    Attributes:
        runs: The runs.
        has_more: Whether the range has more runs.
        complete: Whether no search reached its limit. Otherwise, runs can be missing.
    """

    runs: list[AgendaRun]
    has_more: bool
    complete: bool


def make_agenda(states: Iterable[ScheduleState], now: int, until: int, count: int) -> Agenda:
    """Return the earliest upcoming runs of schedules.

    All schedules are searched together, one run at a time: that of the schedule whose next run is the earliest. So no
    run is computed that the agenda does not need, except the next one of each schedule.

    Args:
        states: The schedules.
        now: Current time in milliseconds.
        until: Latest due time in milliseconds.
        count: Maximum number of runs.
    """
    out_of_time, runs = time_limit(SEARCH_SECONDS, time.thread_time), list[AgendaRun]()
    end = out_of_time.end
    searches = [DueSearch(state, now, out_of_time, until) for state in states]
    nexts = [_Next(_next_check(each.state), each.state.identity, None, iter(each)) for each in searches]
    heapify(nexts)
    while nexts and nexts[0].at <= until and len(runs) <= count:
        at, identity, nominal, dues = nexts[0]
        if nominal is not None:
            runs.append(AgendaRun(at, identity, nominal))
        out_of_time.end, out_of_time.reached = min(end, time.thread_time() + RUN_SECONDS), False
        due = next(dues, None)
        if due is None:
            heappop(nexts)
        else:
            heapreplace(nexts, _Next(due.at, identity, due.nominal, dues))
    return Agenda(runs[:count], len(runs) > count, all(search.complete for search in searches))


def _next_check(state: ScheduleState) -> int:
    """Return when a worker looks at the schedule next, in milliseconds: no run is due before. 0 if that is not set."""
    return state.next_check_at or 0
