"""Calendar events of systemd: `Mon *-*-1..7 10:00 Europe/Paris`. Weekday and date must both match."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.language.candidate import Candidate
from kron.language.canonical import write_ranges
from kron.language.grammar import DAY_NAMES, WEEKDAY
from kron.timing.schedule.dst import Dst, Fold, Gap

SHORTHANDS = {
    "minutely": "* * * * *",
    "hourly": "0 * * * *",
    "daily": "0 0 * * *",
    "weekly": "0 0 * * MON",
    "monthly": "0 0 1 * *",
    "quarterly": "0 0 1 1,4,7,10 *",
    "semiannually": "0 0 1 1,7 *",
    "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
}
SKIP_FIRST = Dst(Gap.SKIP, Fold.FIRST)  # measured with systemd 252
_DAY = "(?:sun|mon|tue|wed|thu|fri|sat)[a-z]{0,6}"
_PART = "[0-9*/,.]+"
_ZONE = "([a-z_]+/[a-z_/]+|UTC)"
_TIME = f"({_PART}):({_PART})(?::({_PART}))?"
_DATE = rf"\*-({_PART})-({_PART})"
EVENT = rf"(?:({_DAY}(?:(?:\.\.|,|-){_DAY})*),? )?(?:{_DATE}(?: {_TIME})?|{_TIME})(?: {_ZONE})?"
_EVENT = re.compile(EVENT, re.IGNORECASE)
_WEEKDAYS = re.compile(f"({_DAY}(?:(?:\\.\\.|,|-){_DAY})*)(?: {_ZONE})?", re.IGNORECASE)
_SHORTHAND = re.compile(f"({'|'.join(SHORTHANDS)})(?: {_ZONE})?", re.IGNORECASE)


def setting(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the candidate of a setting such as `OnCalendar=daily`, whose value is the first group."""
    value = match[1].strip()
    shorthand, weekdays, whole = (pattern.fullmatch(value) for pattern in (_SHORTHAND, _WEEKDAYS, _EVENT))
    if shorthand:
        yield Candidate(SHORTHANDS[shorthand[1].lower()], shorthand[2] or "", SKIP_FIRST)
    elif weekdays:
        yield from _candidates(weekdays[1], ["*", "*"], ["0", "0", "0"], weekdays[2])
    elif whole:
        yield from event(whole)


def event(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the candidate of a calendar event."""
    weekdays, month, day, *clock, zone = match.groups()
    time = clock[:3] if clock[0] else clock[3:]
    yield from _candidates(weekdays, [month or "*", day or "*"], [part or "0" for part in time], zone)


def _candidates(weekdays: str | None, date: list[str], time: list[str], zone: str | None) -> Iterator[Candidate]:
    weekday = _weekday_field(weekdays) if weekdays else "*"
    if not weekday:
        return
    (month, day), (hour, minute, second) = date, time
    highs = ((minute, 59), (hour, 23), (day, 31), (month, 12))
    fields = [*(_field(part, high) for part, high in highs), weekday]
    if second.strip("0"):
        fields.insert(0, _field(second, 59))
    both = ["@days(match=both)"] if weekday != "*" and day != "*" else []
    yield Candidate(" ".join([*fields, *both]), zone or "", SKIP_FIRST)


def _weekday_field(text: str) -> str:
    """Return the weekdays as a cron field; empty if a range is reversed. A week of systemd begins on Monday."""
    week = [*DAY_NAMES[1:], DAY_NAMES[0]]
    selected = set[str]()
    for part in text.split(","):
        first, *last = (week.index(name[:3].upper()) for name in re.split(r"\.\.|-", part))
        if last and last[0] < first:
            return ""
        selected.update(week[first : (last[0] if last else first) + 1])
    values = sum(1 << DAY_NAMES.index(name) for name in selected)
    return "*" if values == WEEKDAY.all else ",".join(write_ranges(values, WEEKDAY, DAY_NAMES))


def _field(part: str, high: int) -> str:
    """Return a part as a cron field: `1..7` is `1-7`, `0/15` is `*/15`, and `5/15` is `5-59/15`."""
    return ",".join(_element(element.replace("..", "-"), high) for element in part.split(","))


def _element(text: str, high: int) -> str:
    base, slash, step = re.sub(r"\b0+(?=[0-9])", "", text).partition("/")
    if slash and base.isdigit():
        base = "*" if base == "0" else f"{base}-{high}"
    return base + slash + step
