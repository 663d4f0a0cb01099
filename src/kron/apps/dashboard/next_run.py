"""Next run of a schedule as pages show it. It is never in the past: an owed period that has passed is late."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kron.rules.state import ScheduleState
from kron.rules.upcoming import inactive_reason, next_period, no_upcoming_reason, search_upcoming
from kron.timing.due import Due, due_of, window_extent
from kron.timing.schedule.policy import MILLISECOND

NOT_SEARCHED = "the search for the next run takes too long for this page"


class NextRun(NamedTuple):
    """What comes next, with times in milliseconds."""

    at: int | None  # due time of the next run; None if there is none
    late_since: int | None  # due time of the earliest period that is owed, has passed and has no record
    absence: str  # why there is no next run; empty if there is one


def next_run(state: ScheduleState, now: int, enough: Callable[[], bool] = lambda: False) -> NextRun:
    """Return the next run of a schedule after `now` (milliseconds). The search ends when `enough` returns True."""
    if enough():
        return NextRun(None, None, NOT_SEARCHED)
    dues, is_complete = search_upcoming(state, now, 1, enough)
    late = None if enough() else late_due(state, now)
    late_since = None if late is None else late.at
    if dues:
        return NextRun(dues[0].at, late_since, "")
    return NextRun(None, late_since, no_upcoming_reason(state, now) if is_complete else NOT_SEARCHED)


def late_due(state: ScheduleState, now: int) -> Due | None:
    """Return the earliest period that is owed, has passed and has no record; None if the schedule is on time.

    A period that was due less than the resolution of the policy ago is on time.
    """
    if inactive_reason(state):
        return None
    nominal = next_period(state)
    if nominal is None or nominal * 1000 > now + window_extent(state.job)[0] * 1000:
        return None
    due = due_of(state.job, nominal)
    return due if due.schedulable and due.at + state.policy.resolution // MILLISECOND < now else None
