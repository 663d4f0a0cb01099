"""The oracle: walk the clock, look at the wall, and see whether the cron line names what it shows.

It is slow and obvious, which is why one believes it. It shares no calendar code with Kron; both ask the standard
library's `zoneinfo` what a wall clock shows at an instant, and nothing else. Both read the same zone file: two tz
databases on one host can differ, and Debian's differs from the package's before 1970.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from io import BytesIO
from typing import NamedTuple
from zoneinfo import ZoneInfo

from kron.timing.tzdata import host_databases

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Tick(NamedTuple):
    """An instant, in seconds from 1970-01-01T00:00:00Z, and what the wall clock and calendar show."""

    t: int
    second: int
    minute: int
    hour: int
    day: int
    month: int
    weekday: int  # 0 = Sunday


def walk(zone: str, start: int, end: int, *, seconds: bool = False) -> list[Tick]:
    """Every whole minute with `start <= t < end`; every second, if asked for or if the wall clock needs it.

    It needs it where the offset of the zone has seconds: there a whole minute on the wall is none in UTC.
    """
    rules = rules_of(zone)
    ticks = [look(rules, t) for t in range(start + -start % 60, end, 60)]
    if seconds or any(tick.second for tick in ticks):
        ticks = [look(rules, t) for t in range(start, end)]
    return ticks


@cache
def rules_of(zone: str) -> ZoneInfo:
    """The rules of the zone, from the tz database that Kron reads."""
    for database in host_databases():
        try:
            return ZoneInfo.from_file(BytesIO(database.read(zone)), key=zone)
        except LookupError:
            continue
    raise LookupError(zone)


def look(rules: ZoneInfo, t: int) -> Tick:
    wall = (EPOCH + timedelta(seconds=t)).astimezone(rules)
    return Tick(t, wall.second, wall.minute, wall.hour, wall.day, wall.month, wall.isoweekday() % 7)


def occurrences(expression: str, ticks: Iterable[Tick]) -> list[int]:
    """The instants whose wall clock the expression names. Six fields have the seconds first."""
    texts = expression.split()
    if len(texts) == 5:
        texts = ["0", *texts]
    seconds, minutes, hours = (values(text, 0, high) for text, high in zip(texts, (59, 59, 23), strict=False))
    days, months = values(texts[3], 1, 31), values(texts[4], 1, 12, MONTHS)
    weekdays = {weekday % 7 for weekday in values(texts[5], 0, 6, WEEKDAYS)}
    either = texts[3] != "*" and texts[5] != "*"
    return [
        t
        for t, second, minute, hour, day, month, weekday in ticks
        if second in seconds
        and minute in minutes
        and hour in hours
        and month in months
        and (day in days or weekday in weekdays if either else day in days and weekday in weekdays)
    ]


def values(text: str, low: int, high: int, names: Iterable[str] = ()) -> set[int]:
    """What a field names: `*`, `5`, `MON`, `1-5`, `*/15`, `10-30/10`, and lists of these."""
    numbers = {name: number for number, name in enumerate(names, low)}
    found = set()
    for element in text.upper().split(","):
        span, _, step = element.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        first, last = numbers.get(first, first), numbers.get(last or first, last or first)
        found |= set(range(int(first), int(last) + 1, int(step or 1)))
    return found


def first_after(found: list[int], t: int) -> int | None:
    """The smallest occurrence > t."""
    return min((one for one in found if one > t), default=None)


def last_upto(found: list[int], t: int) -> int | None:
    """The greatest occurrence <= t."""
    return max((one for one in found if one <= t), default=None)
