"""A cron line as bit sets, and the wall-clock times that it matches.

Wall-clock times are integers here too: seconds from 1970-01-01 00:00:00 on the wall. What instants
they are is the zone's business. No library would do: the ones that exist walk minutes or days
through `datetime` objects, at a hundred times the cost, and each has a doctrine of its own for the
hour that a zone skips or repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

from kron.core.calendar import CYCLE, DAYS, FIRST_DAY, MONTH_OF, MONTHS, WEEKDAY

MINUTES = (1 << 60) - 1
HOURS = (1 << 24) - 1
MONTH_DAYS = (1 << 31) - 1
YEAR = (1 << 12) - 1
WEEK = (1 << 7) - 1

_WEEKS = [sum(week << 7 * i for i in range(6)) for week in range(128)]  # a week of bits, six times over


@dataclass(frozen=True, slots=True)
class Cron:
    """The fields of a cron line. In each set the lowest bit is the lowest value of the field.

    A day matches when its month does and, if both day fields are restricted, either of them does.
    `any_day` and `any_weekday` say that the field was written exactly `*`.
    """

    minutes: int
    hours: int
    days: int = MONTH_DAYS
    months: int = YEAR
    weekdays: int = WEEK
    any_day: bool = True
    any_weekday: bool = True
    seconds: int = 1
    # Derived, so that the search computes nothing twice:
    clock: int = field(init=False, repr=False, compare=False)  # the minutes of a day, bit 0 = 00:00
    opening: int = field(init=False, repr=False, compare=False)  # the first of them
    weeks: int = field(init=False, repr=False, compare=False)  # the weekdays of six weeks, from a Sunday
    daily: bool = field(init=False, repr=False, compare=False)  # every day matches

    def __post_init__(self) -> None:
        clock, opening = _clock(self.minutes, self.hours)
        object.__setattr__(self, "clock", clock)
        object.__setattr__(self, "opening", opening)
        object.__setattr__(self, "weeks", _WEEKS[self.weekdays])
        object.__setattr__(self, "daily", self.months == YEAR and self.any_day and self.any_weekday)

    def after(self, wall: int) -> int | None:
        """The first matching wall-clock time later than `wall`; None if there is none, ever."""
        if self.seconds != 1:
            return self._second_after(wall)
        minute = wall // 60 + 1
        day = minute // 1440
        rest = self.clock >> minute - day * 1440
        if rest and (self.daily or self.matches(day)):
            return (minute + (rest & -rest).bit_length() - 1) * 60
        next_day = day + 1 if self.daily else self._day_from(day + 1)
        return None if next_day is None else (next_day * 1440 + self.opening) * 60

    def upto(self, wall: int) -> int | None:
        """The last matching wall-clock time not later than `wall`; None if there is none, ever."""
        minute, second = divmod(wall, 60)
        seconds = self.seconds & ((2 << second) - 1)
        found = self._minute_upto(minute if seconds else minute - 1)
        if found is None:
            return None
        return found * 60 + (seconds if found == minute else self.seconds).bit_length() - 1

    def _second_after(self, wall: int) -> int | None:
        minute, second = divmod(wall + 1, 60)
        rest = self.seconds >> second
        if rest and self._minute_upto(minute) == minute:
            return wall + (rest & -rest).bit_length()
        whole = replace(self, seconds=1).after(minute * 60)
        return None if whole is None else whole + _lowest(self.seconds)

    def _minute_upto(self, minute: int) -> int | None:
        day, minute = divmod(minute, 1440)
        rest = self.clock & ((2 << minute) - 1)
        if rest and self.matches(day):
            return day * 1440 + rest.bit_length() - 1
        last_day = self._day_upto(day - 1)
        return None if last_day is None else last_day * 1440 + self.clock.bit_length() - 1

    def matches(self, day: int) -> bool:
        """Whether a day, counted from 1970-01-01, matches."""
        if self.any_day and self.months == YEAR:
            return self.weekdays >> (day + 4) % 7 & 1 != 0
        day %= CYCLE
        month = MONTH_OF[day]
        return self.days_of(month) >> day - FIRST_DAY[month] & 1 != 0

    def _day_from(self, day: int) -> int | None:
        """The first matching day not earlier than `day`."""
        if self.any_day and self.months == YEAR:
            days = self.weeks >> (day + 4) % 7
            return day + (days & -days).bit_length() - 1
        in_cycle = day % CYCLE
        month = MONTH_OF[in_cycle]
        days = self.days_of(month) >> in_cycle - FIRST_DAY[month]
        if days:
            return day + (days & -days).bit_length() - 1
        ahead, _ = _strides(self.months)
        start, last = day - in_cycle, month + MONTHS  # the calendar repeats: one empty cycle means never
        while month < last:
            month += ahead[month % 12]
            days = self.days_of(month % MONTHS)
            if days:
                first = start + month // MONTHS * CYCLE + FIRST_DAY[month % MONTHS]
                return first + (days & -days).bit_length() - 1
        return None

    def _day_upto(self, day: int) -> int | None:
        """The last matching day not later than `day`."""
        in_cycle = day % CYCLE
        month = MONTH_OF[in_cycle]
        days = self.days_of(month) & ((2 << in_cycle - FIRST_DAY[month]) - 1)
        start, last = day - in_cycle, month - MONTHS
        _, back = _strides(self.months)
        while not days and month > last:
            month -= back[month % 12]
            days = self.days_of(month % MONTHS)
        if not days:
            return None
        return start + month // MONTHS * CYCLE + FIRST_DAY[month % MONTHS] + days.bit_length() - 1

    def days_of(self, month: int) -> int:
        """The days that match in a month of the 400-year cycle."""
        if not self.months >> month % 12 & 1:
            return 0
        if self.any_day or self.any_weekday:
            return self.days & self.weeks >> WEEKDAY[month] & DAYS[month]
        return (self.days | self.weeks >> WEEKDAY[month]) & DAYS[month]


def possible(cron: Cron) -> bool:
    """Whether any day of the calendar matches; the 30th of February does not."""
    return cron._day_from(0) is not None


@lru_cache(16_384)
def _clock(minutes: int, hours: int) -> tuple[int, int]:
    """The minutes of a day that match, as one bit set, and the first of them."""
    clock = sum(minutes << 60 * hour for hour in range(24) if hours >> hour & 1)
    return clock, _lowest(clock)


@lru_cache(4_096)
def _strides(months: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """From each month of the year, how many months on and back the neighbouring matching one lies."""

    def stride(month: int, way: int) -> int:
        return next(k for k in range(1, 13) if months >> (month + way * k) % 12 & 1)

    return tuple(stride(m, 1) for m in range(12)), tuple(stride(m, -1) for m in range(12))


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
