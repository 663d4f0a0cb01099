"""Openings: the periods of a schedule that its constraints leave open, found without a look at every closed period."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from kron.timing.calendar import date_of, weekday_of
from kron.timing.period import next_nominal
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED, Clauses, Constraints, Reading
from kron.timing.zone import DAY, Search

CENTURY_SECONDS = 36_525 * DAY


class SearchStep(NamedTuple):
    """One step of a search: a period, and whether the constraints leave its window open.

    Attributes:
        nominal: Nominal time of the period, in seconds since 1970-01-01 UTC.
        closed_until: None if the window of the period has an allowed second. Otherwise no period from this one up to
            the one at this second has an allowed second.
    """

    nominal: int
    closed_until: int | None = None


def search_periods(schedule: Schedule, after: int, span: int = CENTURY_SECONDS) -> Iterator[SearchStep]:
    """Yield the periods later than `after`, in order, with one step for adjacent periods that are closed.

    A step leaps from a closed period to the next second that the constraints allow. So the closed periods of a
    schedule such as `* * * * * @only(date=2026-12-25)` take one step, not one per minute.

    Args:
        schedule: The schedule.
        after: Instant in seconds since 1970-01-01 UTC.
        span: Seconds after a period without an allowed second after which the search ends. At least 3 days.
    """
    nominal = next_nominal(schedule, after)
    if schedule.constraints == UNCONSTRAINED:
        while nominal is not None:
            yield SearchStep(nominal)
            nominal = next_nominal(schedule, nominal)
        return
    window = schedule.window
    open_time_after = _open_time_search(schedule.constraints, (window.last - window.first + span) // DAY)
    while nominal is not None:
        second = schedule.zone.first_after(open_time_after, nominal + window.first - 1)
        if second is None:
            yield SearchStep(nominal, nominal + span - 2 * DAY)  # 2 days: offsets, and days that were not whole
            return
        is_open = second <= nominal + window.last
        closed_until = None if is_open else second - window.last - 1
        yield SearchStep(nominal, closed_until)
        nominal = next_nominal(schedule, nominal if closed_until is None else max(nominal, closed_until))


def written_clauses(constraints: Constraints) -> tuple[str, ...]:
    """Return the clauses that the constraints consist of, such as `only hours` and `avoid dates`."""
    reading = Reading(0, 1, 1, 4, 0)
    only, avoid = (clauses.outcomes(reading) if clauses else () for clauses in (constraints.only, constraints.avoid))
    return (*(f"only {key}" for key, _ in only), *(f"avoid {key}" for key, _ in avoid))


def _open_time_search(constraints: Constraints, span_days: int) -> Search:
    """Return a search for the first allowed wall-clock time after a given one. It finds None beyond the span."""
    open_minutes = _open_minutes(_constraints_on(constraints, dates=False))
    day_constraints = _constraints_on(constraints, dates=True)

    def after(wall: int) -> int | None:
        day, second = divmod(wall + 1, DAY)
        index = bisect_left(open_minutes, second // 60)
        if index < len(open_minutes) and _is_open_day(day_constraints, day):
            return day * DAY + max(second, 60 * open_minutes[index])
        open_day = _first_open_day(day_constraints, day + 1, day + span_days) if open_minutes else None
        return None if open_day is None else open_day * DAY + 60 * open_minutes[0]

    return after


@lru_cache(256)
def _open_minutes(clock_constraints: Constraints) -> list[int]:
    """Return the minutes of a day that the clauses about the time of day allow."""
    return [minute for minute in range(1440) if not clock_constraints.violated_clause(Reading(0, 0, 0, 0, minute))]


def _first_open_day(day_constraints: Constraints, first: int, end: int) -> int | None:
    """Return the first allowed day from `first` (included) to `end` (excluded)."""
    only = day_constraints.only
    ranges = sorted(only.dates) if only and only.dates else [(first, end - 1)]
    days = (day for low, high in ranges for day in range(max(low, first), min(high + 1, end)))
    return next((day for day in days if _is_open_day(day_constraints, day)), None)


def _is_open_day(day_constraints: Constraints, day: int) -> bool:
    date = date_of(day)
    return not day_constraints.violated_clause(Reading(day, date.month, date.day, weekday_of(day), 0))


@lru_cache(256)
def _constraints_on(constraints: Constraints, *, dates: bool) -> Constraints:
    """Return the clauses about the day, or those about the time of day. A second must satisfy both kinds."""

    def relevant_clauses(clauses: Clauses | None) -> Clauses | None:
        if clauses is None:
            return None
        return replace(clauses, hours=0, between=()) if dates else replace(clauses, dow=0, dom=0, months=0, dates=())

    return Constraints(relevant_clauses(constraints.only), relevant_clauses(constraints.avoid))
