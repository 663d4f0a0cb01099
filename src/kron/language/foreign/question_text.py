"""Writer of cron lines with ? in one day field, as Quartz and EventBridge have them."""

from __future__ import annotations

from typing import NamedTuple

from kron.language.canonical import write_field, write_ranges
from kron.language.day_tokens import day_texts, weekday_texts
from kron.language.foreign.year import FIRST_YEAR
from kron.language.grammar import DAY, DAY_NAMES, HOUR, MINUTE, MONTH, SECOND, WEEKDAY
from kron.timing.calendar import Date, date_of, day_of
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.days import PLAIN_DAYS, DayCron
from kron.timing.schedule.terms import ALWAYS, Valid
from kron.timing.zone import DAY as DAY_SECONDS
from kron.timing.zone import Zone


class QuestionLine(NamedTuple):
    """Fields of a line with the seconds first, and the parts of the cron line that they cannot have."""

    fields: list[str]
    losses: list[str]


def write_line(cron: Cron) -> QuestionLine:
    """Return the fields of a cron line, with names for months and weekdays."""
    losses = list[str]()
    rule = cron.rule if isinstance(cron, DayCron) else PLAIN_DAYS
    if not cron.any_day and not cron.any_weekday:
        losses.append("one of the two day fields")
    if rule.start is not None:
        losses.append("the interval of days or weeks (@days)")
    days, weekdays = list(day_texts(rule)), list(weekday_texts(rule))
    for tokens, values in ((days, cron.days), (weekdays, cron.weekdays)):
        if len(tokens) > 1 or (tokens and values):
            losses.append("a list with L, W or #")
    day, weekday = "?", "?"
    if cron.any_weekday:
        day = "*" if cron.any_day else (days[0] if days else write_field(cron.days, DAY))
    else:
        weekday = weekdays[0] if weekdays else ",".join(write_ranges(cron.weekdays, WEEKDAY, DAY_NAMES))
    clock = [(cron.seconds, SECOND), (cron.minutes, MINUTE), (cron.hours, HOUR)]
    month = "*" if cron.months == MONTH.all else ",".join(write_ranges(cron.months, MONTH, MONTH.names))
    fields = ["*" if values == kind.all else write_field(values, kind) for values, kind in clock]
    return QuestionLine([*fields, day, month, weekday], losses)


def write_years(valid: Valid, last_year: int) -> str | None:
    """Return the year field of a validity: `*`, a year or a range of years; None if it is none of them."""
    if valid == ALWAYS:
        return "*"
    start, until = valid.start, valid.until
    if start is None or until is None or valid.times is not None or start.is_instant or until.is_instant:
        return None
    first, last = date_of(start.second // DAY_SECONDS).year, date_of(until.second // DAY_SECONDS).year
    is_whole = start.second == _start_of(first) and until.second == _start_of(last + 1) - 1
    if not is_whole or not FIRST_YEAR <= first <= last <= last_year:
        return None
    return str(first) if first == last else f"{first}-{last}"


def single_wall(second: int, zone: Zone, *, is_instant: bool) -> int | None:
    """Return the wall-clock time of a moment; None if a clock change gives it no instant, or two."""
    wall = second + zone.wall(second).offset if is_instant else second
    return wall if len(zone.instants(wall)) == 1 else None


def _start_of(year: int) -> int:
    return (day_of(Date(year, 1, 1)) or 0) * DAY_SECONDS
