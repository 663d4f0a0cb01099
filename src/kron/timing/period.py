"""Periods: the scheduling opportunities of a schedule, one at each nominal time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kron.timing.count import count_matches
from kron.timing.recurrence import count_of, next_of, previous_of
from kron.timing.schedule import Cron, Schedule
from kron.timing.schedule.terms import PLAIN
from kron.timing.zone import EARLIEST, LATEST, UTC_ZONE, instant, moment, rfc3339


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """One scheduling opportunity, identified by its nominal time in seconds since 1970-01-01T00:00:00Z."""

    nominal: int

    @property
    def id(self) -> str:
        """Identifier of the period: its nominal time as RFC 3339 in UTC."""
        return rfc3339(self.nominal)

    @property
    def time(self) -> datetime:
        """Nominal time, in UTC."""
        return moment(self.nominal)


def periods(schedule: Schedule, after: datetime) -> Iterator[Period]:
    """Yield the periods later than `after`, in order, until the schedule has no more.

    Raises:
        ValueError: `after` has no time zone.
    """
    nominal = next_nominal(schedule, instant(after))
    while nominal is not None:
        yield Period(nominal)
        nominal = next_nominal(schedule, nominal)


def nominals(schedule: Schedule, after: int, upto: int | None = None) -> Iterator[int]:
    """Yield the nominal times later than `after` and not later than `upto`, in order; all without `upto`."""
    nominal = next_nominal(schedule, after)
    while nominal is not None and (upto is None or nominal <= upto):
        yield nominal
        nominal = next_nominal(schedule, nominal)


def last_period(schedule: Schedule, upto: datetime) -> Period | None:
    """Return the last period not later than `upto`, or None if there is none.

    Raises:
        ValueError: `upto` has no time zone.
    """
    nominal = prev_nominal(schedule, instant(upto))
    return None if nominal is None else Period(nominal)


def next_nominal(schedule: Schedule, t: int) -> int | None:
    """Return the first nominal time later than the instant `t`, or None if there is none."""
    if schedule.terms is not PLAIN:
        return next_of(schedule, t)
    cron: Cron = schedule.cron  # type: ignore[assignment]  # only cron fields can have plain terms
    zone = schedule.zone
    if zone is UTC_ZONE:  # local time equals the instant
        nominal = cron.after(t)
        if nominal is not None and EARLIEST <= nominal <= LATEST:
            return nominal
        return next_nominal(schedule, EARLIEST - 1) if t < EARLIEST - 1 else None
    _, end, offset = zone.spell(t)
    wall = cron.after(t + offset)
    if wall is not None and wall <= LATEST:
        nominal = wall - offset
        if EARLIEST <= nominal < end:
            return nominal
    if t < EARLIEST - 1:
        return next_nominal(schedule, EARLIEST - 1)
    return zone.first_after(cron.after, t)  # the offset changes before the next match


def prev_nominal(schedule: Schedule, t: int) -> int | None:
    """Return the last nominal time not later than the instant `t`, or None if there is none."""
    if schedule.terms is not PLAIN:
        return previous_of(schedule, t)
    cron: Cron = schedule.cron  # type: ignore[assignment]
    return schedule.zone.last_upto(cron.upto, t)


def count_nominals(schedule: Schedule, after: int, upto: int) -> int:
    """Return the number of nominal times that are later than `after` and not later than `upto`, both in seconds."""
    if schedule.terms is not PLAIN:
        return count_of(schedule, after, upto)
    cron: Cron = schedule.cron  # type: ignore[assignment]
    spells = schedule.zone.spells_between(max(after + 1, EARLIEST), upto + 1)
    return sum(count_matches(cron, first + offset, last + offset) for first, last, offset in spells)
