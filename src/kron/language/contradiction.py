"""Contradictions: constraints that no time can satisfy, detected without looking at periods."""

from __future__ import annotations

from functools import lru_cache

from kron.timing.calendar import date_of, weekday_of
from kron.timing.schedule.constraint import Clauses, Constraints, Reading

MINUTES_IN_DAY = 24 * 60
SEARCH_YEARS = 40  # within them every date falls on every weekday, February 29 included
_SEARCH_DAYS = SEARCH_YEARS * 366


@lru_cache(1024)
def contradiction(constraints: Constraints, today: int) -> str:
    """Explain why no time from `today` on (days since 1970-01-01) satisfies the constraints; empty if one does.

    Constraints look at the minute of the day and at the day separately, so both can be checked separately. The checked
    days are those of `@only(date=…)`, or the next 40 years.
    """
    if constraints == Constraints():
        return ""
    only, avoid = constraints.only or Clauses(), constraints.avoid or Clauses()
    times = Constraints(*(Clauses(hours=clauses.hours, between=clauses.between) for clauses in (only, avoid)))
    if all(times.violated_clause(Reading(0, 1, 1, 0, minute)) for minute in range(MINUTES_IN_DAY)):
        return "no time of the day satisfies them"
    days = Constraints(
        *(Clauses(0, clauses.dow, clauses.dom, clauses.months, (), clauses.dates) for clauses in (only, avoid))
    )
    spans = (
        [(max(first, today - 1), last) for first, last in only.dates]
        if only.dates
        else [(today - 1, today + _SEARCH_DAYS)]
    )
    if all(
        days.violated_clause(_day_reading(day))
        for first, last in spans
        for day in range(first, min(last, first + _SEARCH_DAYS) + 1)
    ):
        return (
            "no remaining day satisfies them"
            if only.dates
            else f"no day of the next {SEARCH_YEARS} years satisfies them"
        )
    return ""


def _day_reading(day: int) -> Reading:
    date = date_of(day)
    return Reading(day, date.month, date.day, weekday_of(day), 0)
