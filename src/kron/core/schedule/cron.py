"""A cron line as bit sets, and the wall-clock times that it matches.

Wall-clock times are integers here too: seconds from 1970-01-01 00:00:00 on the wall. What instants
they are is the zone's business. No library would do: the ones that exist walk minutes or days
through `datetime` objects, at a hundred times the cost, and each has a doctrine of its own for the
hour that a zone skips or repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from kron.core.calendar import CYCLE, DAYS, FIRST_DAY, MONTH_OF, MONTHS, WEEKDAY

MINUTES = (1 << 60) - 1
HOURS = (1 << 24) - 1
MONTH_DAYS = (1 << 31) - 1
YEAR = (1 << 12) - 1
WEEK = (1 << 7) - 1

_DAY = 86_400
_EIGHT_YEARS = 96  # months; they hold a 29th of February, even around 1900, and every other day there is
_WEEKS = [sum(week << 7 * i for i in range(6)) for week in range(128)]  # a week of bits, six times over
_MONTH_DAYS = DAYS + DAYS  # two cycles of the calendar, so that no search has to wrap around
_WEEKDAY = WEEKDAY + WEEKDAY
_FIRST_DAY = FIRST_DAY + [day + CYCLE for day in FIRST_DAY]

Times = tuple[int, int, bytes]
Dates = tuple[bool, bytes, bytes, int, int]


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
    # Derived, so that the search computes nothing twice, and shared by all lines that are alike:
    times: Times = field(init=False, repr=False, compare=False)
    dates: Dates = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        times = _times(self.hours, self.minutes, self.seconds)
        dates = _dates(self.days, self.months, self.weekdays, self.any_day, self.any_weekday)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "dates", dates)

    def after(self, wall: int) -> int | None:
        """The first matching wall-clock time later than `wall`; None if there is none, ever."""
        opening, closing, waits = self.times
        every_day = self.dates[0]
        if every_day and waits:
            minute = wall // 60 + 1
            return (minute + waits[minute % 60]) * 60
        time = wall % _DAY
        if every_day:
            if opening <= time < closing:
                return wall - time + self._time_after(time)
            return wall - time + (opening if time < opening else opening + _DAY)
        day = wall // _DAY
        first = self._day_from(day)
        if first == day and time >= opening:
            if time < closing:
                return wall - time + self._time_after(time)
            first = self._day_from(day + 1)
        return None if first is None else first * _DAY + opening

    def upto(self, wall: int) -> int | None:
        """The last matching wall-clock time not later than `wall`; None if there is none, ever."""
        opening, closing, _ = self.times
        day, time = divmod(wall, _DAY)
        last = self._day_upto(day)
        if last == day:
            if opening <= time < closing:
                return wall - time + self._time_upto(time)
            if time < opening:
                last = self._day_upto(day - 1)
        return None if last is None else last * _DAY + closing

    def days_between(self, start: int, end: int) -> int:
        """How many days match from `start` to before `end`, month by month."""
        _, _, _, dates, weeks = self.dates
        total = 0
        while start < end:
            in_cycle = start % CYCLE
            month = MONTH_OF[in_cycle]
            until = min(_FIRST_DAY[month + 1], in_cycle + end - start)
            if self.months >> month % 12 & 1:
                days = (dates | weeks >> _WEEKDAY[month]) & _MONTH_DAYS[month] & (1 << until - _FIRST_DAY[month]) - 1
                total += (days >> in_cycle - _FIRST_DAY[month]).bit_count()
            start += until - in_cycle
        return total

    def _time_after(self, time: int) -> int:
        """The first matching second of a day later than `time`, given that there is one."""
        hour = time // 3600
        if self.hours >> hour & 1:
            minute = time // 60 - hour * 60
            rest = self.seconds >> time % 60 + 1
            if rest and self.minutes >> minute & 1:
                return time + (rest & -rest).bit_length()
            rest = self.minutes >> minute + 1
            if rest:
                return (hour * 60 + minute + (rest & -rest).bit_length()) * 60 + self.times[0] % 60
        rest = self.hours >> hour + 1
        return (hour + (rest & -rest).bit_length()) * 3600 + self.times[0] % 3600

    def _time_upto(self, time: int) -> int:
        """The last matching second of a day not later than `time`, given that there is one."""
        hour = time // 3600
        if self.hours >> hour & 1:
            minute = time // 60 - hour * 60
            rest = self.seconds & (2 << time % 60) - 1
            if rest and self.minutes >> minute & 1:
                return time - time % 60 + _highest(rest)
            rest = self.minutes & (1 << minute) - 1
            if rest:
                return (hour * 60 + _highest(rest)) * 60 + self.times[1] % 60
        rest = self.hours & (1 << hour) - 1
        return _highest(rest) * 3600 + self.times[1] % 3600

    def _day_from(self, day: int) -> int | None:
        """The first matching day not earlier than `day`."""
        _, week, year, dates, weeks = self.dates
        if week:
            return day + week[(day + 4) % 7]
        in_cycle = day % CYCLE
        month = MONTH_OF[in_cycle]
        if self.months >> month % 12 & 1:
            days = (dates | weeks >> _WEEKDAY[month]) & _MONTH_DAYS[month]
            days >>= in_cycle - _FIRST_DAY[month]
            if days:
                return day + (days & -days).bit_length() - 1
        last = month + _EIGHT_YEARS
        while month < last:
            month += 1
            month += year[month % 12]
            days = (dates | weeks >> _WEEKDAY[month]) & _MONTH_DAYS[month]
            if days:
                return day - in_cycle + _FIRST_DAY[month] + (days & -days).bit_length() - 1
        return None

    def _day_upto(self, day: int) -> int | None:
        """The last matching day not later than `day`."""
        _, _, _, dates, weeks = self.dates
        in_cycle = day % CYCLE + CYCLE
        month = MONTH_OF[in_cycle - CYCLE] + MONTHS
        upto = (2 << in_cycle - _FIRST_DAY[month]) - 1
        last = month - _EIGHT_YEARS
        while month >= last:
            if self.months >> month % 12 & 1:
                days = (dates | weeks >> _WEEKDAY[month]) & _MONTH_DAYS[month] & upto
                if days:
                    return day - in_cycle + _FIRST_DAY[month] + _highest(days)
            month -= 1
            upto = MONTH_DAYS
        return None


def possible(cron: Cron) -> bool:
    """Whether any day of the calendar matches; the 30th of February does not."""
    return cron._day_from(0) is not None


@lru_cache(16_384)
def _times(hours: int, minutes: int, seconds: int) -> Times:
    """The first and the last second of a day that match; and, if it is a whole minute of every hour, its waits."""
    opening = (_lowest(hours) * 60 + _lowest(minutes)) * 60 + _lowest(seconds)
    closing = (_highest(hours) * 60 + _highest(minutes)) * 60 + _highest(seconds)
    return opening, closing, _waits(minutes, 60) if hours == HOURS and seconds == 1 else b""


@lru_cache(16_384)
def _dates(days: int, months: int, weekdays: int, any_day: bool, any_weekday: bool) -> Dates:
    """Whether every day matches; if only the weekday matters, its waits; the waits for a month.

    Then the days that match by their date and by their weekday: of these two, one that was written
    `*` adds nothing to the other.
    """
    weekly = any_day and months == YEAR
    week = _waits(weekdays, 7) if weekly else b""
    by_date = 0 if any_day and not any_weekday else days
    by_weekday = 0 if any_weekday else _WEEKS[weekdays]
    return weekly and any_weekday, week, _waits(months, 12), by_date, by_weekday


@lru_cache(4_096)
def _waits(places: int, size: int) -> bytes:
    """From each place of a circle, how far it is to the nearest one of the set at or after it."""
    waits, wait = [], _lowest(places)
    for place in reversed(range(size)):
        wait = 0 if places >> place & 1 else wait + 1
        waits.append(wait)
    return bytes(reversed(waits))


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _highest(bits: int) -> int:
    return bits.bit_length() - 1
