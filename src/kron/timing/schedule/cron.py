"""Cron line as bit sets, and the wall-clock times that it matches.

Wall-clock times are integers here: seconds since 1970-01-01 00:00:00 local time. The time zone converts them to
instants. This is not a library because the existing ones step through minutes or days with `datetime` objects, at 100
times the cost, and each has its own rule for DST gaps and DST folds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from kron.timing.calendar import CYCLE, DAYS, FIRST_DAY, MONTH_OF, MONTHS, WEEKDAY

MINUTES = (1 << 60) - 1
HOURS = (1 << 24) - 1
MONTH_DAYS = (1 << 31) - 1
YEAR = (1 << 12) - 1
WEEK = (1 << 7) - 1

_DAY = 86_400
_THURSDAY = 4  # the weekday of 1970-01-01
_EIGHT_YEARS = 96  # months; they contain February 29, even around 1900, and every other day of the calendar
_WEEKS = [sum(week << 7 * i for i in range(7)) for week in range(128)]  # seven weeks of bits, longer than any month

# Two cycles of the calendar, so that searches do not have to wrap around.
_FIRST_DAY = FIRST_DAY + [day + CYCLE for day in FIRST_DAY]
_WEEKDAY = WEEKDAY + WEEKDAY
_LENGTH = [days.bit_length() for days in DAYS + DAYS]

Rhythm = tuple[int, int]
Times = tuple[int, int]
Waits = tuple[int, ...]
Dates = tuple[Waits, Waits, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Cron:
    """Fields of a cron line as bit sets. In each set the lowest bit is the lowest value of the field.

    A day matches if its month matches and its day fields match. If both day fields are restricted, one match is
    enough. `any_day` and `any_weekday` mean that the field was written exactly `*`.
    """

    minutes: int
    hours: int
    days: int = MONTH_DAYS
    months: int = YEAR
    weekdays: int = WEEK
    any_day: bool = True
    any_weekday: bool = True
    seconds: int = 1
    # Derived once, so that searches do not compute them again, and shared by all equal lines:
    rhythm: Rhythm | None = field(init=False, repr=False, compare=False)
    times: Times = field(init=False, repr=False, compare=False)
    dates: Dates = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rhythm = None
        if self.any_day and self.months == YEAR and self.seconds == 1 and type(self) is Cron:
            rhythm = _rhythm(self.hours, self.minutes, self.weekdays)
        dates = _dates(self.days, self.months, self.weekdays, self.any_day, self.any_weekday)
        object.__setattr__(self, "rhythm", rhythm)
        object.__setattr__(self, "times", _times(self.hours, self.minutes, self.seconds))
        object.__setattr__(self, "dates", dates)

    def after(self, wall: int) -> int | None:
        """Return the first matching wall-clock time later than `wall`, or None if the fields never match."""
        if self.rhythm is not None:
            phase, stride = self.rhythm
            return wall - (wall - phase) % stride + stride
        opening, closing = self.times
        day = wall // _DAY
        first = self._day_from(day)
        if first == day:
            time = wall % _DAY
            if time >= closing:
                first = self._day_from(day + 1)
            elif time >= opening:
                return wall - time + self._time_after(time)
        return None if first is None else first * _DAY + opening

    def upto(self, wall: int) -> int | None:
        """Return the last matching wall-clock time not later than `wall`, or None if the fields never match."""
        if self.rhythm is not None:
            phase, stride = self.rhythm
            return wall - (wall - phase) % stride
        opening, closing = self.times
        day, time = divmod(wall, _DAY)
        last = self._day_upto(day)
        if last == day:
            if time < opening:
                last = self._day_upto(day - 1)
            elif time < closing:
                return wall - time + self._time_upto(time)
        return None if last is None else last * _DAY + closing

    def days_between(self, start: int, end: int) -> int:
        """Return how many days match from `start` (included) to `end` (excluded), counted month by month."""
        _, year, dates, weeks, _, _ = self.dates
        total = 0
        while start < end:
            in_cycle = start % CYCLE
            month = MONTH_OF[in_cycle]
            until = min(_FIRST_DAY[month + 1], in_cycle + end - start)
            if not year[month % 12]:
                days = (dates | weeks >> _WEEKDAY[month]) & (1 << until - _FIRST_DAY[month]) - 1
                total += (days >> in_cycle - _FIRST_DAY[month]).bit_count()
            start += until - in_cycle
        return total

    def _time_after(self, time: int) -> int:
        """Return the first matching second of a day later than `time`. The caller ensures that there is one."""
        hour = time // 3600
        if self.hours >> hour & 1:
            minute = time // 60 - hour * 60
            rest = self.seconds >> time % 60 + 1
            if rest and self.minutes >> minute & 1:
                return time + _lowest(rest) + 1
            rest = self.minutes >> minute + 1
            if rest:
                return (hour * 60 + minute + _lowest(rest) + 1) * 60 + self.times[0] % 60
        return (hour + _lowest(self.hours >> hour + 1) + 1) * 3600 + self.times[0] % 3600

    def _time_upto(self, time: int) -> int:
        """Return the last matching second of a day not later than `time`. The caller ensures that there is one."""
        hour = time // 3600
        if self.hours >> hour & 1:
            minute = time // 60 - hour * 60
            rest = self.seconds & (2 << time % 60) - 1
            if rest and self.minutes >> minute & 1:
                return time - time % 60 + _highest(rest)
            rest = self.minutes & (1 << minute) - 1
            if rest:
                return (hour * 60 + _highest(rest)) * 60 + self.times[1] % 60
        return _highest(self.hours & (1 << hour) - 1) * 3600 + self.times[1] % 3600

    def _day_from(self, day: int) -> int | None:
        """Return the first matching day not earlier than `day`."""
        week, year, days, weeks, low, high = self.dates
        if week:
            return day + week[day % 7]
        in_cycle = day % CYCLE
        month = MONTH_OF[in_cycle]
        passed = in_cycle - _FIRST_DAY[month]
        if passed <= high and not year[month % 12]:
            rest = (days | weeks >> _WEEKDAY[month]) >> passed
            found = passed + (rest & -rest).bit_length() - 1
            if found < _LENGTH[month]:
                return day - passed + found
        last = month + _EIGHT_YEARS
        while month < last:
            month += 1
            month += year[month % 12]
            found = _lowest(days | weeks >> _WEEKDAY[month]) if weeks else low
            if found < _LENGTH[month]:
                return day - in_cycle + _FIRST_DAY[month] + found
        return None

    def _day_upto(self, day: int) -> int | None:
        """Return the last matching day not later than `day`."""
        _, year, days, weeks, _, _ = self.dates
        in_cycle = day % CYCLE + CYCLE
        month = MONTH_OF[in_cycle - CYCLE] + MONTHS
        length = in_cycle - _FIRST_DAY[month] + 1
        last = month - _EIGHT_YEARS
        while month >= last:
            rest = (days | weeks >> _WEEKDAY[month]) & (1 << length) - 1
            if rest and not year[month % 12]:
                return day - in_cycle + _FIRST_DAY[month] + _highest(rest)
            month -= 1
            length = _LENGTH[month]
        return None


def possible(cron: Cron) -> bool:
    """Return whether any day of the calendar matches. February 30, for example, does not exist."""
    return cron._day_from(0) is not None


@lru_cache(16_384)
def _rhythm(hours: int, minutes: int, weekdays: int) -> Rhythm | None:
    """Return one match and the seconds between two matches if the matches are evenly spaced; otherwise None."""
    opening, _ = _times(hours, minutes, 1)
    stride = _stride(minutes, 60) * 60
    if stride == 3_600:
        stride *= _stride(hours, 24)
    elif hours != HOURS:
        return None
    if weekdays == WEEK:
        return (opening, stride) if stride else None
    one_a_week = stride == _DAY and _stride(weekdays, 7) == 7
    return (opening + (_lowest(weekdays) - _THURSDAY) % 7 * _DAY, 7 * _DAY) if one_a_week else None


@lru_cache(16_384)
def _times(hours: int, minutes: int, seconds: int) -> Times:
    """Return the first and the last matching second of a day."""
    opening = (_lowest(hours) * 60 + _lowest(minutes)) * 60 + _lowest(seconds)
    closing = (_highest(hours) * 60 + _highest(minutes)) * 60 + _highest(seconds)
    return opening, closing


@lru_cache(16_384)
def _dates(days: int, months: int, weekdays: int, any_day: bool, any_weekday: bool) -> Dates:
    """Return the tables of the search for matching days.

    In order: the days from each weekday to the next matching one (empty unless the weekday alone decides), the months
    from each month to the next matching one, the bit set of days that match by date, the bit set of days that match by
    weekday, and the first and the last day of a month that can match. A day field that was written `*` adds nothing to
    the other one.
    """
    week = _waits(_WEEKS[weekdays] >> _THURSDAY & WEEK, 7) if any_day and months == YEAR else ()
    by_date = 0 if any_day and not any_weekday else days
    by_weekday = 0 if any_weekday else _WEEKS[weekdays]
    return week, _waits(months, 12), by_date, by_weekday, _lowest(days), _highest(days) if any_weekday else 30


@lru_cache(4_096)
def _waits(places: int, size: int) -> Waits:
    """Return, for each position of a cycle, the distance to the nearest position of the set at or after it."""
    waits, wait = [], _lowest(places)
    for place in reversed(range(size)):
        wait = 0 if places >> place & 1 else wait + 1
        waits.append(wait)
    return tuple(reversed(waits))


@lru_cache(4_096)
def _stride(places: int, size: int) -> int:
    """Return the distance between the positions of a set on a cycle if they are evenly spaced; otherwise 0."""
    stride, rest = divmod(size, places.bit_count())
    even = sum(1 << place for place in range(_lowest(places), size, stride))
    return stride if even == places and not rest else 0


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _highest(bits: int) -> int:
    return bits.bit_length() - 1
