"""Cron line as bit sets, and the wall-clock times that it matches.

Wall-clock times are integers here: seconds since 1970-01-01 00:00:00 local time. The time zone converts them to
instants. This is not a library because the existing ones step through minutes or days with `datetime` objects, at 100
times the cost, and each has its own rule for DST gaps and DST folds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from kron.timing.calendar import CYCLE_DAYS, CYCLE_MONTHS, DAY_BITS, FIRST_DAY, FIRST_WEEKDAY, MONTH_OF
from kron.timing.schedule.head import Every, Moments

MINUTES = (1 << 60) - 1
HOURS = (1 << 24) - 1
MONTH_DAYS = (1 << 31) - 1
YEAR = (1 << 12) - 1
WEEK = (1 << 7) - 1

_DAY_SECONDS = 86_400
_THURSDAY = 4  # the weekday of 1970-01-01
_SEARCH_MONTHS = 96  # months; they contain February 29, even around 1900, and every other day of the calendar
# Set of weekdays -> the same set in each of seven weeks of bits, longer than any month.
_WEEKDAY_BITS = [sum(week << 7 * i for i in range(7)) for week in range(128)]

# Two cycles of the calendar, so that searches do not have to wrap around.
_FIRST_DAY = FIRST_DAY + [day + CYCLE_DAYS for day in FIRST_DAY]
_FIRST_WEEKDAY = FIRST_WEEKDAY + FIRST_WEEKDAY
_MONTH_LENGTH = [days.bit_length() for days in DAY_BITS + DAY_BITS]

Rhythm = tuple[int, int]
Times = tuple[int, int]
Distances = tuple[int, ...]
Dates = tuple[Distances, Distances, int, int, int, int]


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
        first_time, last_time = self.times
        day = wall // _DAY_SECONDS
        matching_day = self._day_from(day)
        if matching_day == day:
            time = wall % _DAY_SECONDS
            if time >= last_time:
                matching_day = self._day_from(day + 1)
            elif time >= first_time:
                return wall - time + self._time_after(time)
        return None if matching_day is None else matching_day * _DAY_SECONDS + first_time

    def upto(self, wall: int) -> int | None:
        """Return the last matching wall-clock time not later than `wall`, or None if the fields never match."""
        if self.rhythm is not None:
            phase, stride = self.rhythm
            return wall - (wall - phase) % stride
        first_time, last_time = self.times
        day, time = divmod(wall, _DAY_SECONDS)
        matching_day = self._day_upto(day)
        if matching_day == day:
            if time < first_time:
                matching_day = self._day_upto(day - 1)
            elif time < last_time:
                return wall - time + self._time_upto(time)
        return None if matching_day is None else matching_day * _DAY_SECONDS + last_time

    def days_between(self, start: int, end: int) -> int:
        """Return how many days match from `start` (included) to `end` (excluded), counted month by month."""
        _, month_distances, by_date, by_weekday, _, _ = self.dates
        total = 0
        while start < end:
            in_cycle = start % CYCLE_DAYS
            month = MONTH_OF[in_cycle]
            end_in_cycle = min(_FIRST_DAY[month + 1], in_cycle + end - start)
            if not month_distances[month % 12]:
                matches = (by_date | by_weekday >> _FIRST_WEEKDAY[month]) & (1 << end_in_cycle - _FIRST_DAY[month]) - 1
                total += (matches >> in_cycle - _FIRST_DAY[month]).bit_count()
            start += end_in_cycle - in_cycle
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

    def _first_searched_day(self) -> int:
        """Return a day from which a search finds a match if there is any. Every match comes again in each cycle."""
        return 0

    def _day_from(self, day: int) -> int | None:
        """Return the first matching day not earlier than `day`."""
        weekday_distances, month_distances, by_date, by_weekday, first_index, last_index = self.dates
        if weekday_distances:
            return day + weekday_distances[day % 7]
        in_cycle = day % CYCLE_DAYS
        month = MONTH_OF[in_cycle]
        day_index = in_cycle - _FIRST_DAY[month]
        if day_index <= last_index and not month_distances[month % 12]:
            rest = (by_date | by_weekday >> _FIRST_WEEKDAY[month]) >> day_index
            match_index = day_index + (rest & -rest).bit_length() - 1
            if match_index < _MONTH_LENGTH[month]:
                return day - day_index + match_index
        last_month = month + _SEARCH_MONTHS
        while month < last_month:
            month += 1
            month += month_distances[month % 12]
            match_index = _lowest(by_date | by_weekday >> _FIRST_WEEKDAY[month]) if by_weekday else first_index
            if match_index < _MONTH_LENGTH[month]:
                return day - in_cycle + _FIRST_DAY[month] + match_index
        return None

    def _day_upto(self, day: int) -> int | None:
        """Return the last matching day not later than `day`."""
        _, month_distances, by_date, by_weekday, _, _ = self.dates
        in_cycle = day % CYCLE_DAYS + CYCLE_DAYS
        month = MONTH_OF[in_cycle - CYCLE_DAYS] + CYCLE_MONTHS
        length = in_cycle - _FIRST_DAY[month] + 1
        first_month = month - _SEARCH_MONTHS
        while month >= first_month:
            matches = (by_date | by_weekday >> _FIRST_WEEKDAY[month]) & (1 << length) - 1
            if matches and not month_distances[month % 12]:
                return day - in_cycle + _FIRST_DAY[month] + _highest(matches)
            month -= 1
            length = _MONTH_LENGTH[month]
        return None


def possible(head: Cron | Moments | Every) -> bool:
    """Return whether any day of the calendar matches. February 30, for example, does not exist."""
    return not isinstance(head, Cron) or head._day_from(head._first_searched_day()) is not None


@lru_cache(16_384)
def _rhythm(hours: int, minutes: int, weekdays: int) -> Rhythm | None:
    """Return one match and the seconds between two matches if the matches are evenly spaced; otherwise None."""
    first_time, _ = _times(hours, minutes, 1)
    stride = _even_distance(minutes, 60) * 60
    if stride == 3_600:
        stride *= _even_distance(hours, 24)
    elif hours != HOURS:
        return None
    if weekdays == WEEK:
        return (first_time, stride) if stride else None
    is_weekly = stride == _DAY_SECONDS and _even_distance(weekdays, 7) == 7
    return (first_time + (_lowest(weekdays) - _THURSDAY) % 7 * _DAY_SECONDS, 7 * _DAY_SECONDS) if is_weekly else None


@lru_cache(16_384)
def _times(hours: int, minutes: int, seconds: int) -> Times:
    """Return the first and the last matching second of a day."""
    first_time = (_lowest(hours) * 60 + _lowest(minutes)) * 60 + _lowest(seconds)
    last_time = (_highest(hours) * 60 + _highest(minutes)) * 60 + _highest(seconds)
    return first_time, last_time


@lru_cache(16_384)
def _dates(days: int, months: int, weekdays: int, any_day: bool, any_weekday: bool) -> Dates:
    """Return the tables of the search for matching days.

    In order: the days from each weekday to the next matching one (empty unless the weekday alone decides), the months
    from each month to the next matching one, the bit set of days that match by date, the bit set of days that match by
    weekday, and the first and the last day of a month that can match. A day field that was written `*` adds nothing to
    the other one.
    """
    weekday_distances = _distances(_WEEKDAY_BITS[weekdays] >> _THURSDAY & WEEK, 7) if any_day and months == YEAR else ()
    by_date = 0 if any_day and not any_weekday else days
    by_weekday = 0 if any_weekday else _WEEKDAY_BITS[weekdays]
    return (
        weekday_distances,
        _distances(months, 12),
        by_date,
        by_weekday,
        _lowest(days),
        _highest(days) if any_weekday else 30,
    )


@lru_cache(4_096)
def _distances(positions: int, size: int) -> Distances:
    """Return, for each position of a cycle, the distance to the nearest position of the set at or after it."""
    distances, distance = [], _lowest(positions)
    for position in reversed(range(size)):
        distance = 0 if positions >> position & 1 else distance + 1
        distances.append(distance)
    return tuple(reversed(distances))


@lru_cache(4_096)
def _even_distance(positions: int, size: int) -> int:
    """Return the distance between the positions of a set on a cycle if they are evenly spaced; otherwise 0."""
    distance, remainder = divmod(size, positions.bit_count())
    even_positions = sum(1 << position for position in range(_lowest(positions), size, distance))
    return distance if even_positions == positions and not remainder else 0


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _highest(bits: int) -> int:
    return bits.bit_length() - 1
