"""Upcoming runs of a schedule if nothing changes, and the reason if there are none."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from kron.rules.state import ScheduleState
from kron.rules.survey import responsible, unhandled
from kron.timing.calendar import date_of, weekday_of
from kron.timing.due import Due, due_of, window_extent
from kron.timing.job import Job
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED, Constraints, Reading
from kron.timing.zone import rfc3339

DAY = 86_400
CENTURY = 36_525 * DAY
MAX_PERIODS_SCANNED = 20_000  # periods scanned
MAX_DAYS_SCANNED = 4_000  # days scanned for one that satisfies the constraints
OFFSET = 15 * 3_600  # seconds: no time zone is further from UTC


def upcoming(case: ScheduleState, now: int, count: int, enough: Callable[[], bool] = lambda: False) -> list[Due]:
    """Return the next runs of a schedule after `now` (milliseconds), in the order of their due times.

    Only runs that will happen are returned. Handled periods, periods that this revision does not owe, and periods of a
    schedule that is deleted, suspended, or paused without an end are left out.

    Args:
        case: State of the schedule.
        now: Current time in milliseconds.
        count: Maximum number of runs.
        enough: Called before each period; the search ends when it returns True. Constraints that admit nothing make the
            search long. It always ends after 100 years or 20,000 periods.
    """
    if rests(case):
        return []
    job, (before, _), found = case.job, window_extent(case.job), list[Due]()
    now = now if case.paused_until is None else max(now, case.paused_until - 1)  # the pause excludes its end
    for nominal in _candidates(case, now):
        full = len(found) >= count and (nominal - before) * 1000 > found[count - 1].at
        if full or enough():
            break
        due = due_of(job, nominal)
        if due.schedulable and due.at > now and responsible(case, due):
            insort(found, due, key=lambda due: due.at)
    return found[:count]


def rests(case: ScheduleState) -> str:
    """Return why a schedule will not run until it is changed; empty if it can run."""
    if case.deleted:
        return "the schedule is deleted"
    if case.paused and case.paused_until is None:
        return "the schedule is paused until it is resumed"
    return "the schedule is suspended by its policy" if case.policy.suspend else ""


def nothing(case: ScheduleState, now: int) -> str:
    """Return why `upcoming` found no run."""
    job = case.job
    if rests(case):
        return rests(case)
    if job.end is not None and now // 1000 >= job.end:
        return f"the schedule ended at {rfc3339(job.end)}"
    nominal = next(unhandled(case, _begin(case, now)), None)
    if nominal is None:
        return "the schedule has no further period" + ("" if job.end is None else f" until {rfc3339(job.end)}")
    *_, last = _candidates(case, now)
    return f"no period until {rfc3339(last)} has a time that satisfies the constraints"


def _begin(case: ScheduleState, now: int) -> int:
    return max(case.cursor, now // 1000 - window_extent(case.job)[1] - 1)


def _candidates(case: ScheduleState, now: int) -> Iterator[int]:
    """Yield the unhandled periods, without those on days that the constraints exclude."""
    cursor, job = _begin(case, now), case.job
    free = (
        job.schedule.constraints is UNCONSTRAINED
        or job.schedule.constraints == UNCONSTRAINED
        or bool(job.schedule.policy.jitter)
    )
    for _ in range(MAX_PERIODS_SCANNED):
        nominal = next(unhandled(case, cursor), None)
        if nominal is None or nominal > now // 1000 + CENTURY:
            return
        yield nominal
        cursor = nominal if free else max(nominal, _leap(job, nominal))


def _leap(job: Job, nominal: int) -> int:
    """Return a second up to which no later period can be placed, because the constraints exclude its days."""
    before, after = window_extent(job)
    first = (nominal - before - OFFSET) // DAY
    day = next((d for d in range(first, first + MAX_DAYS_SCANNED) if _open(job.schedule, d)), first + MAX_DAYS_SCANNED)
    return day * DAY - OFFSET - after - 1


def _open(schedule: Schedule, day: int) -> bool:
    """Return whether a day of the local calendar has a minute that satisfies the constraints."""
    date, weekday = date_of(day), weekday_of(day)
    if _by_day(schedule.constraints).violated_clause(Reading(day, date.month, date.day, weekday, 0)):
        return False
    clauses = [c for c in (schedule.constraints.only, schedule.constraints.avoid) if c]
    edges = {edge % 1440 for c in clauses for a, b in c.between for edge in (a, b, b + 1)}
    minutes = edges.union(range(0, 1440, 60))
    readings = (Reading(day, date.month, date.day, weekday, minute) for minute in sorted(minutes))
    return any(not schedule.constraints.violated_clause(reading) for reading in readings)


@lru_cache(256)
def _by_day(constraints: Constraints) -> Constraints:
    """Return the clauses of the constraints that apply to a whole day."""
    only, avoid = (c and replace(c, hours=0, between=()) for c in (constraints.only, constraints.avoid))
    return Constraints(only, avoid)
