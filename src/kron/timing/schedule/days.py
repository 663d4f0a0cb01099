"""Days that cron's own fields cannot select: L, W and #, both day fields at once, and every n days or weeks.

`DayCron` is a cron line with such days. Matching days are computed month by month, as bit sets whose bit 0 is the 1st.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from kron.timing.calendar import CYCLE_DAYS, CYCLE_MONTHS, DAY_BITS, FIRST_DAY, FIRST_WEEKDAY, MONTH_OF
from kron.timing.schedule.cron import Cron

MAX_EVERY = 1_000  # days or weeks between two matches of a cadence
_LAST_MONTH = 12 * (9_704 - 1_970)  # no period is later
_SUNDAY, _FRIDAY, _SATURDAY = 0, 5, 6
_MONDAY_OFFSET = 3  # day -3, 1969-12-29, was a Monday


@dataclass(frozen=True, slots=True)
class Days:
    """Rule for days beyond the two day fields.

    Attributes:
        last: Days of the month counted from its end: bit 0 is the last day (`L`), bit 2 the day two before it (`L-2`).
        near: Days of the month whose nearest weekday in the same month is selected (`15W`), bit 0 = the 1st.
        last_weekday: Whether the last weekday of the month, Monday to Friday, is selected (`LW`).
        nth: Weekdays by their number in the month: bit 7 * (n - 1) + weekday (`TUE#2` is bit 9).
        last_of: Weekdays whose last one in the month is selected (`FRIL`), bit 0 = Sunday.
        both: Whether a day must match both day fields. Otherwise one of them is enough.
        every: Only every `every`-th day or week matches; 1 for all.
        weeks: Whether `every` counts ISO weeks, not days.
        start: Day number from which `every` counts. No earlier day matches. None if `every` is not used.
    """

    last: int = 0
    near: int = 0
    last_weekday: bool = False
    nth: int = 0
    last_of: int = 0
    both: bool = False
    every: int = 1
    weeks: bool = False
    start: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.every <= MAX_EVERY:
            raise ValueError(f"every {self.every} is not from 1 to {MAX_EVERY}")


PLAIN_DAYS = Days()


@dataclass(frozen=True, slots=True)
class DayCron(Cron):
    """Cron line whose days also follow a rule. `days` and `weekdays` can be empty if the rule selects days instead."""

    rule: Days = PLAIN_DAYS

    def days_between(self, start: int, end: int) -> int:
        """Return how many days match from `start` (included) to `end` (excluded), counted month by month."""
        total = 0
        while start < end:
            month = _month_of(start)
            first_day = _first_day(month)
            next_start = min(_first_day(month + 1), end)
            matches = self._matches(month) & (1 << next_start - first_day) - 1
            total += (matches >> start - first_day).bit_count()
            start = next_start
        return total

    def _first_searched_day(self) -> int:
        return 0 if self.rule.start is None else self.rule.start

    def _day_from(self, day: int) -> int | None:
        if self.rule.start is not None:
            day = max(day, self.rule.start)
        first_month = _month_of(day)
        index = day - _first_day(first_month)
        # Without `every`, matches come again after 400 years. With it, they can be further apart.
        last_month = first_month + CYCLE_MONTHS if self.rule.start is None else _LAST_MONTH
        for month in range(first_month, last_month + 1):
            matches = self._matches(month) >> index << index
            if matches:
                return _first_day(month) + (matches & -matches).bit_length() - 1
            index = 0
        return None

    def _day_upto(self, day: int) -> int | None:
        last_month = _month_of(day)
        before = day - _first_day(last_month) + 1
        first_month = last_month - CYCLE_MONTHS if self.rule.start is None else _month_of(self.rule.start)
        for month in range(last_month, first_month - 1, -1):
            matches = self._matches(month) & (1 << before) - 1
            if matches:
                return _first_day(month) + matches.bit_length() - 1
            before = 31
        return None

    def _matches(self, month: int) -> int:
        """Return the matching days of a month, counted from January 1970."""
        if not self.months >> month % 12 & 1:
            return 0
        in_cycle = month % CYCLE_MONTHS
        month_days, first_weekday = DAY_BITS[in_cycle], FIRST_WEEKDAY[in_cycle]
        rule = self.rule
        by_date = month_days if self.any_day else (self.days & month_days) | _dates_of(rule, month_days, first_weekday)
        by_weekday = month_days if self.any_weekday else _weekdays_of(self.weekdays, rule, month_days, first_weekday)
        is_both = rule.both or self.any_day or self.any_weekday
        matches = by_date & by_weekday if is_both else by_date | by_weekday
        if rule.start is None or not matches:
            return matches
        return matches & _cadence_days(rule, rule.start, _first_day(month))


def _month_of(day: int) -> int:
    """Return the month of a day number, counted from January 1970."""
    cycles, in_cycle = divmod(day, CYCLE_DAYS)
    return MONTH_OF[in_cycle] + cycles * CYCLE_MONTHS


def _first_day(month: int) -> int:
    """Return the day number of the first day of a month, counted from January 1970."""
    cycles, in_cycle = divmod(month, CYCLE_MONTHS)
    return cycles * CYCLE_DAYS + FIRST_DAY[in_cycle]


@lru_cache(4_096)
def _dates_of(rule: Days, month_days: int, first_weekday: int) -> int:
    """Return the days of a month that L and W select."""
    length = month_days.bit_length()
    selected = 0
    for distance in range(length):
        if rule.last >> distance & 1:
            selected |= 1 << length - 1 - distance
    for index in range(length):
        if rule.near >> index & 1:
            selected |= 1 << _nearest_weekday(index, length, first_weekday)
    if rule.last_weekday:
        weekday = (first_weekday + length - 1) % 7
        selected |= 1 << length - 1 - {_SATURDAY: 1, _SUNDAY: 2}.get(weekday, 0)
    return selected


def _nearest_weekday(index: int, length: int, first_weekday: int) -> int:
    """Return the day from Monday to Friday that is nearest to a day, within its month. Days count from 0."""
    weekday = (first_weekday + index) % 7
    if weekday == _SATURDAY:
        return index - 1 if index else index + 2
    if weekday == _SUNDAY:
        return index + 1 if index + 1 < length else index - 2
    return index


@lru_cache(4_096)
def _weekdays_of(weekdays: int, rule: Days, month_days: int, first_weekday: int) -> int:
    """Return the days of a month that the weekday field and # select."""
    length = month_days.bit_length()
    selected = 0
    for index in range(length):
        weekday = (first_weekday + index) % 7
        is_nth = rule.nth >> 7 * (index // 7) + weekday & 1
        is_last = rule.last_of >> weekday & 1 and index + 7 >= length
        if weekdays >> weekday & 1 or is_nth or is_last:
            selected |= 1 << index
    return selected


def _cadence_days(rule: Days, start: int, first_day: int) -> int:
    """Return the days of a month that `every` selects: those not before `start`, every n days or ISO weeks."""
    selected = 0
    if not rule.weeks:
        for index in range((start - first_day) % rule.every, 31, rule.every):
            selected |= 1 << index
    else:
        start_week = (start + _MONDAY_OFFSET) // 7
        for index in range(31):
            if ((first_day + index + _MONDAY_OFFSET) // 7 - start_week) % rule.every == 0:
                selected |= 1 << index
    too_early = min(max(start - first_day, 0), 31)
    return selected >> too_early << too_early
