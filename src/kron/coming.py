"""Upcoming runs of a schedule, if nothing changes; and the reason where there are none."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter

from kron.core.calendar import date_of, weekday_of
from kron.core.case import Case
from kron.core.due import Due, due_of, reach, responsible, unhandled
from kron.core.job import Job
from kron.core.schedule import Schedule
from kron.core.schedule.constraint import FREE, Constraints, Reading
from kron.core.zone import rfc3339

DAY = 86_400
CENTURY = 36_525 * DAY
MOST = 20_000  # periods looked at
FURTHEST = 4_000  # days that are looked at for an open one
OFFSET = 15 * 3_600  # seconds: no zone is further from UTC


def coming(case: Case, now: int, count: int, enough: Callable[[], bool] = lambda: False) -> list[Due]:
    """Return the next runs of a schedule after `now` (milliseconds), in the order of their due times.

    Only what will happen: not what is handled, nor what this revision does not owe, nor anything of a schedule that is
    deleted, suspended, or paused without an end. The search ends after 100 years or 20,000 periods, or when `enough`,
    which is asked before each period, says so: constraints that admit nothing make it long.
    """
    if rests(case):
        return []
    job, (before, _), found = case.job, reach(case.job), list[Due]()
    now = now if case.until is None else max(now, case.until - 1)  # it runs again at that instant
    for nominal in _candidates(case, now):
        full = len(found) >= count and (nominal - before) * 1000 > found[count - 1].at
        if full or enough():
            break
        due = due_of(job, nominal)
        if due.schedulable and due.at > now and responsible(case, due):
            insort(found, due, key=attrgetter("at"))
    return found[:count]


def rests(case: Case) -> str:
    """Return why a schedule will not run until somebody changes it; empty if it may."""
    if case.deleted:
        return "the schedule is deleted"
    if case.paused and case.until is None:
        return "the schedule is paused until it is resumed"
    return "the schedule is suspended by its policy" if case.policy.suspend else ""


def nothing(case: Case, now: int) -> str:
    """Return why `coming` found no run."""
    job = case.job
    if rests(case):
        return rests(case)
    if job.end is not None and now // 1000 >= job.end:
        return f"the schedule ended at {rfc3339(job.end)}"
    nominal = next(unhandled(case, _begin(case, now)), None)
    if nominal is None:
        return "the calendar has no further period" + ("" if job.end is None else f" until {rfc3339(job.end)}")
    *_, last = _candidates(case, now)
    return f"no period until {rfc3339(last)} has a time that the constraints admit"


def _begin(case: Case, now: int) -> int:
    return max(case.cursor, now // 1000 - reach(case.job)[1] - 1)


def _candidates(case: Case, now: int) -> Iterator[int]:
    """The unhandled periods, without those on days that the constraints close."""
    cursor, job = _begin(case, now), case.job
    free = job.schedule.constraints is FREE or job.schedule.constraints == FREE or bool(job.schedule.policy.jitter)
    for _ in range(MOST):
        nominal = next(unhandled(case, cursor), None)
        if nominal is None or nominal > now // 1000 + CENTURY:
            return
        yield nominal
        cursor = nominal if free else max(nominal, _leap(job, nominal))


def _leap(job: Job, nominal: int) -> int:
    """Return a second up to which no later period can be placed, because the constraints close its days."""
    before, after = reach(job)
    first = (nominal - before - OFFSET) // DAY
    day = next((d for d in range(first, first + FURTHEST) if _open(job.schedule, d)), first + FURTHEST)
    return day * DAY - OFFSET - after - 1


def _open(schedule: Schedule, day: int) -> bool:
    """Whether a day of the wall calendar has a minute that the constraints admit."""
    date, weekday = date_of(day), weekday_of(day)
    if _by_day(schedule.constraints).objection(Reading(day, date.month, date.day, weekday, 0)):
        return False
    clauses = [c for c in (schedule.constraints.only, schedule.constraints.avoid) if c]
    edges = {edge % 1440 for c in clauses for a, b in c.between for edge in (a, b, b + 1)}
    minutes = edges.union(range(0, 1440, 60))
    readings = (Reading(day, date.month, date.day, weekday, minute) for minute in sorted(minutes))
    return any(not schedule.constraints.objection(reading) for reading in readings)


@lru_cache(256)
def _by_day(constraints: Constraints) -> Constraints:
    """The clauses of constraints that hold for a whole day."""
    only, avoid = (c and replace(c, hours=0, between=()) for c in (constraints.only, constraints.avoid))
    return Constraints(only, avoid)
