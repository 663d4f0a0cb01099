"""The oracle of the plus dialect: walk the days, list their wall-clock times, and ask `zoneinfo` for the instants.

It reads the text itself and shares no code with Kron. Days are `datetime.date`. Gaps and folds are those of PEP 495:
a wall-clock time exists if its instant shows it again, and `fold` selects the first or the second of two instants.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tests import oracle
from tests.oracle import EPOCH, MONTHS, WEEKDAYS, rules_of

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
MARGIN = timedelta(days=2)  # more than any offset and any clock change together
NAMED_RULES = {"wall": ("skip", "both"), "once": ("after", "first")}
POLICIES = [(gap, fold) for gap in ("skip", "after", "shift") for fold in ("both", "first", "last")]

_MODIFIER = re.compile(r"@(\w+)\(([^)]*)\)")
_DURATION = re.compile(r"([0-9]+)([hms])")
_UNIT_SECONDS = {"h": 3600, "m": 60, "s": 1}

values = lru_cache(5_000)(oracle.values)


class Text(NamedTuple):
    """Words of a text before its modifiers, and the bodies of its modifiers as pairs of key and value."""

    words: list[str]
    days: dict[str, str]
    dst: dict[str, str]
    valid: dict[str, str]


def instants(text: str, zone: str, start: int, end: int) -> list[int]:
    """All instants of a text in a zone with `start <= t < end`, in order. The zone stands next to the text."""
    read, rules = split(text), rules_of(zone)
    low, high = EPOCH + start * SECOND, EPOCH + end * SECOND
    first = resolve_edge(read.valid["from"], rules, is_start=True) if "from" in read.valid else None
    last = resolve_edge(read.valid["until"], rules, is_start=False) if "until" in read.valid else None
    walk_from = low if "times" not in read.valid else first or beginning(read, rules)
    times = sorted(t for t in set(heads(read, rules, walk_from, high)) if walk_from <= t < high)
    times = [t for t in times if (first is None or t >= first) and (last is None or t <= last)]
    times = times[: int(read.valid.get("times", len(times)))]
    return [(t - EPOCH) // SECOND for t in times if t >= low]


def split(text: str) -> Text:
    """The parts of a text."""
    bodies = dict(_MODIFIER.findall(text))
    days, dst, valid = (dict(_pairs(bodies.get(name, ""))) for name in ("days", "dst", "valid"))
    return Text(_MODIFIER.sub("", text).split(), days, dst, valid)


def _pairs(body: str) -> Iterator[tuple[str, str]]:
    for part in body.split(",") if body else ():
        key, _, value = part.partition("=")
        yield (key, value) if value else ("name", key)


def beginning(read: Text, rules: ZoneInfo) -> datetime:
    """The first instant that `at` or `every` can have, less a margin."""
    moments = read.words[3:] if read.words[0] == "every" else read.words[1].split(",")
    return min(resolve_edge(moment, rules, is_start=True) for moment in moments) - MARGIN


def heads(read: Text, rules: ZoneInfo, low: datetime, high: datetime) -> Iterator[datetime]:
    """The instants of a head, without its validity; some lie outside of `low` and `high`."""
    if read.words[0] == "at":
        for moment in read.words[1].split(","):
            yield from resolve(moment, rules, *policy(read, ("after", "first")))
    elif read.words[0] == "every":
        interval = sum(int(n) * _UNIT_SECONDS[unit] for n, unit in _DURATION.findall(read.words[1])) * SECOND
        (anchor,) = resolve(read.words[3], rules, "after", "first")
        steps = max((low - anchor) // interval, 0)
        while anchor + steps * interval < high:
            yield anchor + steps * interval
            steps += 1
    else:
        gap, fold = policy(read, ("skip", "both"))
        smallest, greatest = offsets(rules, low, high)
        for wall in walls(read, naive(low + smallest), naive(high + greatest)):
            yield from of_wall(wall, rules, gap, fold)


@lru_cache(1_000)
def offsets(rules: ZoneInfo, low: datetime, high: datetime) -> tuple[timedelta, timedelta]:
    """The smallest and the greatest offset of a zone around two instants, hour by hour."""
    hours = range(-24, int((high - low) / HOUR) + 25)
    shown = {(low + n * HOUR).astimezone(rules).utcoffset() or timedelta() for n in hours}
    return min(shown), max(shown)


def policy(read: Text, default: tuple[str, str]) -> tuple[str, str]:
    """What a text says about gaps and folds."""
    if not read.dst:
        return default
    name = read.dst.get("name")
    if name == "once" and read.words[0] != "at" and is_repeating(read.words):
        return NAMED_RULES["wall"]
    return NAMED_RULES[name] if name else (read.dst.get("gap", default[0]), read.dst.get("fold", default[1]))


def is_repeating(words: list[str]) -> bool:
    """Whether the minute or the hour is every value, or every n-th of at least three, as `*` and `*/n` write it."""
    return any(
        sorted(values(word, 0, high)) == list(range(0, high + 1, step))
        for word, high in zip(words[-5:-3], (59, 23), strict=True)
        for step in range(1, high // 2 + 1)
    )


def walls(read: Text, low: datetime, high: datetime) -> Iterator[datetime]:
    """The wall-clock times that cron fields name, hour by hour."""
    texts = ["0", *read.words] if len(read.words) == 5 else read.words
    seconds, minutes, hours = (sorted(values(text, 0, top)) for text, top in zip(texts, (59, 59, 23), strict=False))
    hour = low.replace(minute=0, second=0)
    while hour <= high:
        if hour.hour in hours and selects(tuple(texts[3:]), tuple(sorted(read.days.items())), hour.date()):
            for minute in minutes:
                for second in seconds:
                    yield hour.replace(minute=minute, second=second)
        hour += HOUR


@lru_cache(100_000)
def selects(fields: tuple[str, str, str], rule: tuple[tuple[str, str], ...], day: date) -> bool:
    """Whether the three fields for days, with the body of @days, select a day."""
    dom, month, dow = fields
    options = dict(rule)
    if day.month not in values(month, 1, 12, MONTHS):
        return False
    if "every" in options and not in_cadence(options["every"], date.fromisoformat(options["from"]), day):
        return False
    by_date = dom == "*" or any(is_date(element, day) for element in dom.upper().split(","))
    by_weekday = dow == "*" or any(is_weekday(element, day) for element in dow.upper().split(","))
    if "*" in (dom, dow) or options.get("match") == "both":
        return by_date and by_weekday
    return by_date or by_weekday


def in_cadence(every: str, start: date, day: date) -> bool:
    """Whether a day is one of every n days or ISO weeks from a day on."""
    if day < start:
        return False
    if every.endswith("d"):
        return (day - start).days % int(every[:-1]) == 0
    monday, first_monday = (one - timedelta(days=one.weekday()) for one in (day, start))
    return (monday - first_monday).days // 7 % int(every[:-1]) == 0


def is_date(element: str, day: date) -> bool:
    """Whether one element of the day of the month selects a day."""
    month = month_of(day)
    if element == "LW":
        return day == [one for one in month if one.weekday() < 5][-1]
    if element.startswith("L"):
        return day == month[-1] - timedelta(days=int(element[2:] or 0))
    if element.endswith("W"):
        aim = int(element[:-1])
        weekdays = [one for one in month if one.weekday() < 5]
        return aim <= len(month) and day == min(weekdays, key=lambda one: abs(one.day - aim))
    return day.day in values(element, 1, 31)


def is_weekday(element: str, day: date) -> bool:
    """Whether one element of the day of the week selects a day."""
    alike = [one for one in month_of(day) if one.weekday() == day.weekday()]
    name, _, number = element.partition("#")
    if number:
        return _weekday(name) == day.isoweekday() % 7 and alike.index(day) + 1 == int(number)
    if element.endswith("L"):
        return _weekday(element[:-1]) == day.isoweekday() % 7 and day == alike[-1]
    return day.isoweekday() % 7 in values(element, 0, 6, WEEKDAYS)


def _weekday(name: str) -> int:
    return WEEKDAYS.index(name) if name in WEEKDAYS else int(name)


@lru_cache(5_000)
def _month(year: int, month: int) -> list[date]:
    return [date(year, month, number + 1) for number in range(monthrange(year, month)[1])]


def month_of(day: date) -> list[date]:
    """All days of the month of a day."""
    return _month(day.year, day.month)


def resolve(moment: str, rules: ZoneInfo, gap: str, fold: str) -> list[datetime]:
    """The instants of a moment as it is written."""
    time = datetime.fromisoformat(moment)
    return [time.astimezone(UTC)] if time.tzinfo else of_wall(time, rules, gap, fold)


def resolve_edge(moment: str, rules: ZoneInfo, *, is_start: bool) -> datetime:
    """The first instant not before a moment, or the last one not after it: of a fold, the outer instant."""
    times = resolve(moment, rules, "after", "both")
    if is_start or len(times) > 1 or "Z" in moment or re.search(r"[+-]\d\d:\d\d$", moment):
        return times[0] if is_start else times[-1]
    is_skipped = not of_wall(datetime.fromisoformat(moment), rules, "skip", "both")
    return times[0] - SECOND if is_skipped else times[0]


def of_wall(wall: datetime, rules: ZoneInfo, gap: str, fold: str) -> list[datetime]:
    """The instants of a wall-clock time under a rule for gaps and folds."""
    first, last, shown = _readings(wall, rules)
    if not shown:  # PEP 495: in a gap, fold=0 takes the offset before it, and fold=1 the one after it
        return [] if gap == "skip" else [first] if gap == "shift" else [_end_of_gap(rules, last, first)]
    return shown if fold == "both" else shown[:1] if fold == "first" else shown[-1:]


@lru_cache(200_000)
def _readings(wall: datetime, rules: ZoneInfo) -> tuple[datetime, datetime, list[datetime]]:
    """The two readings of a wall-clock time, and those of them at which a clock shows it."""
    first, last = wall.replace(tzinfo=rules), wall.replace(tzinfo=rules, fold=1)
    if first.utcoffset() == last.utcoffset():  # neither in a gap nor in a fold
        instant = first.astimezone(UTC)
        return instant, instant, [instant]
    first, last = first.astimezone(UTC), last.astimezone(UTC)
    return first, last, [t for t in (first, last) if naive(t.astimezone(rules)) == wall]


@lru_cache(5_000)
def _end_of_gap(rules: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The first instant of the offset after a gap; `before` has the offset before it, and `after` the one after it."""
    offset = after.astimezone(rules).utcoffset()
    while after - before > SECOND:
        middle = before + (after - before) // SECOND // 2 * SECOND
        if middle.astimezone(rules).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after


def naive(time: datetime) -> datetime:
    """What a clock and a calendar show."""
    return time.replace(tzinfo=None, fold=0)
