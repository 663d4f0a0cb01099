"""Gregorian calendar as tables: the month of each day, and the weekday on which each month begins.

Day numbers count from 1970-01-01, which is day 0. The calendar repeats every 400 years, weekdays included, so tables
of one cycle are enough for all years.
"""

from __future__ import annotations

from typing import NamedTuple

CYCLE_DAYS = 146_097  # days in 400 years, a whole number of weeks
CYCLE_MONTHS = 4_800  # months in 400 years

MONTH_OF: list[int] = []  # day of the cycle -> month of the cycle
FIRST_DAY: list[int] = []  # month of the cycle -> day of the cycle that begins it
FIRST_WEEKDAY: list[int] = []  # month of the cycle -> weekday of its first day, 0 = Sunday
DAY_BITS: list[int] = []  # month of the cycle -> bit set of its days, bit 0 = the 1st

_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _fill_tables() -> None:
    day = 0
    for cycle_month in range(CYCLE_MONTHS):
        year, month = 1970 + cycle_month // 12, cycle_month % 12
        is_leap_year = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        length = 29 if is_leap_year and month == 1 else _MONTH_LENGTHS[month]
        FIRST_DAY.append(day)
        FIRST_WEEKDAY.append((day + 4) % 7)  # 1970-01-01 was a Thursday
        DAY_BITS.append((1 << length) - 1)
        MONTH_OF.extend([cycle_month] * length)
        day += length


_fill_tables()


class Date(NamedTuple):
    """Date: year, month (1-12) and day of the month (from 1)."""

    year: int
    month: int
    day: int

    @property
    def text(self) -> str:
        """ISO 8601 text, such as 2026-03-01."""
        return f"{self.year:04d}-{self.month:02d}-{self.day:02d}"


def date_of(day: int) -> Date:
    """Return the date of a day number."""
    cycles, day = divmod(day, CYCLE_DAYS)
    cycle_month = MONTH_OF[day]
    return Date(1970 + 400 * cycles + cycle_month // 12, cycle_month % 12 + 1, day - FIRST_DAY[cycle_month] + 1)


def day_of(date: Date) -> int | None:
    """Return the day number of a date, or None if the date does not exist."""
    if not 1 <= date.month <= 12 or date.day < 1:
        return None
    cycles, cycle_year = divmod(date.year - 1970, 400)
    cycle_month = cycle_year * 12 + date.month - 1
    if not DAY_BITS[cycle_month] >> (date.day - 1) & 1:
        return None
    return cycles * CYCLE_DAYS + FIRST_DAY[cycle_month] + date.day - 1


def weekday_of(day: int) -> int:
    """Return the weekday of a day number, 0 = Sunday."""
    return (day + 4) % 7


def iso_week(day: int) -> str:
    """Return the ISO 8601 week of a day number, as 2026-W53. A week belongs to the year of its Thursday."""
    thursday = day - (day + 3) % 7 + 3
    year = date_of(thursday).year
    return f"{year:04d}-W{(thursday - _first_day_of_year(year)) // 7 + 1:02d}"


def _first_day_of_year(year: int) -> int:
    cycles, year = divmod(year - 1970, 400)
    return cycles * CYCLE_DAYS + FIRST_DAY[year * 12]
