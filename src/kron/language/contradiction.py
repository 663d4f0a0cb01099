"""Contradictions: constraints that no time can satisfy, detected without looking at periods."""

from __future__ import annotations

from functools import lru_cache

from kron.timing.calendar import date_of, weekday_of
from kron.timing.schedule.constraint import Clauses, Constraints, Reading

MINUTES = 24 * 60
YEARS = 40  # within them every date falls on every weekday, February 29 included
_DAYS = YEARS * 366


@lru_cache(1024)
def contradiction(constraints: Constraints, today: int) -> str:
    """Explain why no time from `today` on (days since 1970-01-01) satisfies the constraints; empty if one does.

    Constraints look at the minute of the day and at the day separately, so both can be checked separately. The checked
    days are those of `@only(date=…)`, or the next 40 years.
    """
    if constraints == Constraints():
        return ""
    only, avoid = constraints.only or Clauses(), constraints.avoid or Clauses()
    times = Constraints(*(Clauses(hours=each.hours, between=each.between) for each in (only, avoid)))
    if all(times.violated_clause(Reading(0, 1, 1, 0, minute)) for minute in range(MINUTES)):
        return "no time of the day satisfies them"
    days = Constraints(*(Clauses(0, each.dow, each.dom, each.months, (), each.dates) for each in (only, avoid)))
    spans = [(max(a, today - 1), b) for a, b in only.dates] if only.dates else [(today - 1, today + _DAYS)]
    if all(days.violated_clause(_reading(day)) for a, b in spans for day in range(a, min(b, a + _DAYS) + 1)):
        return "no remaining day satisfies them" if only.dates else f"no day of the next {YEARS} years satisfies them"
    return ""


def _reading(day: int) -> Reading:
    date = date_of(day)
    return Reading(day, date.month, date.day, weekday_of(day), 0)
