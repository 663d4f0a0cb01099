"""Times of day of a recurrence, and recurrences that are an interval of elapsed time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kron.language.foreign.recurrence_rule import Rule
from kron.language.foreign.recurrence_text import Stamp
from kron.timing.schedule.cron import HOURS, MINUTES
from kron.timing.schedule.head import MAX_INTERVAL, Every, Moment
from kron.timing.zone import DAY, Zone

_UNITS = {"MINUTELY": 60, "HOURLY": 3_600}  # seconds


class Clock(NamedTuple):
    """Seconds, minutes and hours as bit sets, and the days between two days that have runs."""

    seconds: int
    minutes: int
    hours: int
    every_days: int = 1

    @property
    def is_single(self) -> bool:
        """Whether a day has one time only."""
        return all(values.bit_count() == 1 for values in (self.seconds, self.minutes, self.hours))


def clock_of(rule: Rule, start: Stamp) -> Clock:
    """Return the times of a recurrence whose interval divides the hour or the day, or is whole days.

    A set of values is empty if the parts of the rule contradict each other.
    """
    hour, minute, second = start.wall // 3_600 % 24, start.wall // 60 % 60, start.wall % 60
    seconds = bit_set(rule.seconds or [second])
    minutes = bit_set(rule.minutes) or (MINUTES if rule.frequency == "MINUTELY" else 1 << minute)
    hours = bit_set(rule.hours) or (HOURS if rule.frequency in _UNITS else 1 << hour)
    every_minutes = rule.interval if rule.frequency == "MINUTELY" else 60
    every_hours = rule.interval if rule.frequency == "HOURLY" else max(every_minutes // 60, 1)
    if rule.frequency == "MINUTELY":
        minutes &= _every(minute, every_minutes, 60)
    if rule.frequency in _UNITS:
        hours &= _every(hour, every_hours, 24)
    return Clock(seconds, minutes, hours, max(every_hours // 24, 1) if rule.frequency in _UNITS else 1)


def interval_of(rule: Rule, start: Stamp) -> Every | None:
    """Return the elapsed time of an interval such as 90 minutes, which gives other times each day; otherwise None."""
    unit = _UNITS.get(rule.frequency)
    if unit is None or is_regular(rule.interval * unit):
        return None
    for key in ("BYMONTH", "BYMONTHDAY", "BYDAY", "BYHOUR", "BYSETPOS"):
        if key in rule.places:
            raise rule.unsayable(key, "does not go with an interval that gives other times each day", _hint(rule))
    fixed_minutes = rule.minutes if unit == 3_600 else ()
    if len(rule.seconds) > 1 or len(fixed_minutes) > 1 or (unit == 60 and rule.minutes):
        key = "BYSECOND" if len(rule.seconds) > 1 else "BYMINUTE"
        raise rule.unsayable(key, "does not go with an interval that gives other times each day", _hint(rule))
    if rule.interval * unit > MAX_INTERVAL:
        raise rule.unsayable("INTERVAL", "is too long", f"use at most {MAX_INTERVAL // unit}")
    anchor = start.wall
    if fixed_minutes:
        anchor += (fixed_minutes[0] - start.wall // 60 % 60) * 60
    if rule.seconds:
        anchor += rule.seconds[0] - start.wall % 60
    if anchor < start.wall:
        anchor += rule.interval * unit
    return Every(rule.interval * unit, Moment(anchor))


def clocks_change(zone: Zone, start: int) -> bool:
    """Return whether the clocks of a zone change within 100 years after the wall-clock time `start`."""
    return zone.fixed is None and next(zone.shifts(start - DAY, start + 100 * 366 * DAY), None) is not None


def bit_set(values: Iterable[int], low: int = 0) -> int:
    """Return values as a bit set whose lowest bit is `low`."""
    return sum(1 << value - low for value in set(values))


def is_regular(seconds: int) -> bool:
    """Return whether an interval gives the same times in each hour or on each day that has runs."""
    return 3_600 % seconds == 0 or seconds % DAY == 0 or (seconds % 3_600 == 0 and DAY % seconds == 0)


def _every(first: int, step: int, size: int) -> int:
    """Return the values that are whole steps away from the first one; only the first if a step is the size or more."""
    return bit_set(range(first % step, size, step)) if step < size else 1 << first


def _hint(rule: Rule) -> str:
    unit = "minutes that divides 60" if rule.frequency == "MINUTELY" else "hours that divides 24"
    return f"choose an INTERVAL of {unit}"
