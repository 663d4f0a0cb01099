"""Agenda: the earliest upcoming runs of several schedules, found with bounded work."""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Iterable
from typing import NamedTuple

from kron.apps.compute import time_limit
from kron.rules.state import ScheduleState
from kron.rules.upcoming import search_upcoming

# Limits of processor time, so that a busy host does not change the result.
SEARCH_SECONDS = 2.0  # for all schedules
SCHEDULE_SECONDS = 0.25  # for one schedule: its constraints can admit few times or none


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

    As soon as `count` runs are known, later runs are not searched any more. The schedules that are due first come
    first. So the work for many frequent schedules is little more than that for one.

    Args:
        states: The schedules.
        now: Current time in milliseconds.
        until: Latest due time in milliseconds.
        count: Maximum number of runs.
    """
    out_of_time, runs, complete = time_limit(SEARCH_SECONDS, time.thread_time), list[AgendaRun](), True
    for state in sorted(states, key=_next_check):
        if _next_check(state) > until:
            break
        seconds = min(SCHEDULE_SECONDS, out_of_time.end - time.thread_time())
        search = search_upcoming(state, now, count + 1, time_limit(seconds, time.thread_time), until)
        complete = complete and search.complete
        for due in search.dues:
            insort(runs, AgendaRun(due.at, state.identity, due.nominal))
        del runs[count + 1 :]
        until = runs[count].at if len(runs) > count else until
    return Agenda(runs[:count], len(runs) > count, complete)


def _next_check(state: ScheduleState) -> int:
    """Return when a worker looks at the schedule next, in milliseconds: no run is due before. 0 if that is not set."""
    return state.next_check_at or 0
