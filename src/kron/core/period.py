"""Periods: the opportunities to run that a schedule gives, one at each nominal time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kron.core.schedule import Schedule
from kron.core.zone import LATEST, UTC_ZONE, instant, moment, rfc3339


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """One opportunity to run. It is its nominal time: an instant, in seconds from 1970-01-01T00:00:00Z."""

    nominal: int

    @property
    def id(self) -> str:
        """The name of the period everywhere: its nominal time as RFC 3339 in UTC."""
        return rfc3339(self.nominal)

    @property
    def time(self) -> datetime:
        """The nominal time, in UTC."""
        return moment(self.nominal)


def periods(schedule: Schedule, after: datetime) -> Iterator[Period]:
    """The periods later than `after`, in order. It ends where the calendar has no more."""
    nominal = next_nominal(schedule, instant(after))
    while nominal is not None:
        yield Period(nominal)
        nominal = next_nominal(schedule, nominal)


def latest(schedule: Schedule, upto: datetime) -> Period | None:
    """The last period not later than `upto`."""
    nominal = prev_nominal(schedule, instant(upto))
    return None if nominal is None else Period(nominal)


def next_nominal(schedule: Schedule, t: int) -> int | None:
    """The smallest nominal time later than the instant `t`."""
    cron, zone = schedule.cron, schedule.zone
    if zone is UTC_ZONE:  # its wall clock shows the instant itself
        nominal = cron.after(t)
        return None if nominal is None or nominal > LATEST else nominal
    _, end, offset = zone.spell(t)
    wall = cron.after(t + offset)
    if wall is not None and wall <= LATEST:
        nominal = wall - offset
        if nominal < end:
            return nominal
    return zone.first_after(cron.after, t)  # the clocks change before


def prev_nominal(schedule: Schedule, t: int) -> int | None:
    """The greatest nominal time not later than the instant `t`."""
    return schedule.zone.last_upto(schedule.cron.upto, t)
