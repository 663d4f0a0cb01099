"""Day tokens of the plus dialect: L, L-2, LW and 15W in the day of the month, TUE#2 and FRIL in the day of the week."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from kron.errors import clip
from kron.language.fault import Fault
from kron.language.grammar import DAY_NAMES, WEEKDAY
from kron.language.tokens import Token, elements
from kron.timing.schedule.days import PLAIN_DAYS, Days

_DAY_TOKEN = re.compile(r"L(?:-([0-9]{1,4}))?|(LW)|([0-9]{1,4})W", re.IGNORECASE | re.ASCII)
_WEEKDAY_TOKEN = re.compile(r"([A-Z]{3}|[0-9]{1,4})(?:(L)|#([0-9]{1,4}))", re.IGNORECASE | re.ASCII)


class Taken(NamedTuple):
    """Days that the tokens of two fields select, and the other elements of the fields, with their positions in them."""

    rule: Days
    day: list[Token]
    weekday: list[Token]


def take_tokens(day: str, weekday: str) -> Taken:
    """Read the tokens of the two day fields. A Fault has its position in its own field and names it in `details`."""
    rule = PLAIN_DAYS
    day_rest, weekday_rest = list[Token](), list[Token]()
    for element in elements(Token(day, 0)):
        match = _DAY_TOKEN.fullmatch(element.text)
        if match:
            rule = _with_day(rule, match, element.start)
        else:
            day_rest.append(element)
    for element in elements(Token(weekday, 0)):
        match = _WEEKDAY_TOKEN.fullmatch(element.text)
        if match:
            rule = _with_weekday(rule, match, element.start)
        else:
            weekday_rest.append(element)
    return Taken(rule, day_rest, weekday_rest)


def day_texts(rule: Days) -> Iterator[str]:
    """Yield the canonical tokens of the day of the month."""
    for distance in range(31):
        if rule.last >> distance & 1:
            yield f"L-{distance}" if distance else "L"
    if rule.last_weekday:
        yield "LW"
    for index in range(31):
        if rule.near >> index & 1:
            yield f"{index + 1}W"


def weekday_texts(rule: Days) -> Iterator[str]:
    """Yield the canonical tokens of the day of the week."""
    for number in range(5):
        for weekday in range(7):
            if rule.nth >> 7 * number + weekday & 1:
                yield f"{DAY_NAMES[weekday]}#{number + 1}"
    for weekday in range(7):
        if rule.last_of >> weekday & 1:
            yield f"{DAY_NAMES[weekday]}L"


def _with_day(rule: Days, match: re.Match[str], start: int) -> Days:
    if match[2]:
        return replace(rule, last_weekday=True)
    number = int(match[3] or match[1] or 0)
    if match[3]:
        if not 1 <= number <= 31:
            raise _range_fault("OUT_OF_RANGE", "day", match, start, "1W to 31W")
        return replace(rule, near=rule.near | 1 << number - 1)
    if match[1] and not 1 <= number <= 30:
        raise _range_fault("OUT_OF_RANGE", "day", match, start, "L, or L-1 to L-30")
    return replace(rule, last=rule.last | 1 << number)


def _with_weekday(rule: Days, match: re.Match[str], start: int) -> Days:
    named = WEEKDAY.number(match[1])
    weekday = int(match[1]) if match[1].isdigit() else named
    if weekday is None or weekday > 6:
        hint = "write 0 for Sunday" if weekday == 7 else "use 0 to 6, or SUN to SAT"
        reason = f"has the unknown day {clip(match[1])}"
        details: dict[str, object] = {"field": "weekday", "reason": reason}
        raise Fault("UNKNOWN_NAME", f"weekday field {reason}", start, start + len(match[1]), hint, details)
    if match[2]:
        return replace(rule, last_of=rule.last_of | 1 << weekday)
    number = int(match[3])
    if not 1 <= number <= 5:
        hint = f"{DAY_NAMES[weekday]}#1 to {DAY_NAMES[weekday]}#5, or {DAY_NAMES[weekday]}L for the last one"
        raise _range_fault("NTH_RANGE", "weekday", match, start, hint)
    return replace(rule, nth=rule.nth | 1 << 7 * (number - 1) + weekday)


def _range_fault(code: str, field: str, match: re.Match[str], start: int, allowed: str) -> Fault:
    reason = f"{clip(match[0])} is out of range"
    details: dict[str, object] = {"field": field, "reason": reason}
    return Fault(code, f"{field} field: {reason}", start, start + len(match[0]), f"write {allowed}", details)
