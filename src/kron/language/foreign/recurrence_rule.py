"""Rules of iCalendar recurrences: the parts of an RRULE."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kron.errors import clip, did_you_mean
from kron.language.fault import Fault
from kron.language.foreign.recurrence_text import Stamp, read_stamp
from kron.language.tokens import Token, elements
from kron.timing.schedule.terms import MAX_TIMES

FREQUENCIES = ("MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
DAYS = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_UNSAYABLE_PARTS = ("BYWEEKNO", "BYYEARDAY", "BYEASTER")
_DAY = re.compile(r"([+-]?[0-9]{1,2})?(SU|MO|TU|WE|TH|FR|SA)", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rule:
    """Parts of an RRULE. A part that was not written is None or empty.

    Attributes:
        frequency: FREQ.
        interval: INTERVAL.
        count: COUNT.
        until: UNTIL.
        seconds: BYSECOND.
        minutes: BYMINUTE.
        hours: BYHOUR.
        month_days: BYMONTHDAY. Negative numbers count from the end of the month.
        months: BYMONTH.
        days: BYDAY: ordinals, 0 for every one, with weekdays, 0 = Sunday.
        positions: BYSETPOS.
        week_start: WKST, 0 = Sunday.
        places: Text and position of each part, by its key.
    """

    frequency: str
    interval: int = 1
    count: int | None = None
    until: Stamp | None = None
    seconds: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    days: tuple[tuple[int, int], ...] = ()
    positions: tuple[int, ...] = ()
    week_start: int = 1
    places: dict[str, Token] = field(default_factory=dict)

    def unsayable(self, key: str, reason: str, hint: str) -> Fault:
        """Return the fault of a part that Kron cannot express exactly."""
        place = self.places[key]
        return Fault("NOT_SAYABLE", f"{key}={clip(place.text)}: {reason}", place.start, place.end, hint)

    def invalid(self, key: str, reason: str, hint: str) -> Fault:
        """Return the fault of a part that RFC 5545 does not allow."""
        place = self.places[key]
        return Fault("BAD_PARAMETER", f"{key}={clip(place.text)}: {reason}", place.start, place.end, hint)


def read_rule(value: Token) -> Rule:
    """Return the rule of the value of an RRULE."""
    places, start = dict[str, Token](), value.start
    for part in value.text.split(";"):
        key, equals, text = part.partition("=")
        key = key.upper()
        if not equals or key not in _PARTS:
            raise _unknown_part(Token(part, start), key)
        if key in places:
            raise Fault("DUPLICATE_PARAMETER", f"duplicate {key}", start, start + len(part), "keep one of them")
        places[key] = Token(text, start + len(part) - len(text))
        start += len(part) + 1
    if "FREQ" not in places:
        raise Fault("BAD_PARAMETER", "RRULE has no FREQ", value.start, value.start + 1, "write FREQ=DAILY first")
    arguments = {name: reader(places[key]) for key, (name, reader) in _PARTS.items() if key in places}
    rule = Rule(**arguments, places=places)
    if rule.count is not None and rule.until is not None:
        raise rule.invalid("UNTIL", "the rule has COUNT too", "keep one of them")
    return rule


def _unknown_part(part: Token, key: str) -> Fault:
    end = max(part.end, part.start + 1)
    if key in _UNSAYABLE_PARTS:
        hint = "use BYMONTH, BYMONTHDAY and BYDAY, or list the moments: at 2026-12-01T09:00,…"
        return Fault("NOT_SAYABLE", f"{key} cannot be expressed", part.start, end, hint)
    message = f"unknown part {clip(part.text)!r} of RRULE" if part.text else "empty part of RRULE"
    hint = did_you_mean(key, _PARTS, f"use {', '.join(_PARTS)}")
    return Fault("UNKNOWN_PARAMETER", message, part.start, end, hint)


def _read_frequency(value: Token) -> str:
    name = value.text.upper()
    if name == "SECONDLY":
        hint = "write every 30s from 2026-01-01T00:00 in the plus dialect"
        raise Fault("NOT_SAYABLE", "FREQ=SECONDLY cannot be expressed", value.start, value.end, hint)
    if name not in FREQUENCIES:
        hint = did_you_mean(name, FREQUENCIES, f"use {', '.join(FREQUENCIES)}")
        raise _bad_value(value, "a frequency", hint)
    return name


def _read_week_start(value: Token) -> int:
    name = value.text.upper()
    if name not in DAYS:
        raise _bad_value(value, "a weekday", f"use {', '.join(DAYS)}")
    return DAYS.index(name)


def _read_days(value: Token) -> tuple[tuple[int, int], ...]:
    days = set[tuple[int, int]]()
    for element in elements(value):
        match = _DAY.fullmatch(element.text)
        if not match or (match[1] and not 1 <= abs(int(match[1])) <= 53):
            raise _bad_value(element, "a weekday", "use MO to SU, with a number as in 2TU or -1FR")
        days.add((int(match[1] or 0), DAYS.index(match[2].upper())))
    return tuple(sorted(days))


def _number_reader(low: int, high: int) -> Callable[[Token], int]:
    def read(value: Token) -> int:
        return _read_number(value, low, high)

    return read


def _list_reader(low: int, high: int, *, is_signed: bool = False) -> Callable[[Token], tuple[int, ...]]:
    def read(value: Token) -> tuple[int, ...]:
        return tuple(sorted({_read_number(each, low, high, is_signed=is_signed) for each in elements(value)}))

    return read


def _read_number(element: Token, low: int, high: int, *, is_signed: bool = False) -> int:
    number = int(element.text) if _NUMBER.fullmatch(element.text) else None
    if number is None or not low <= (abs(number) if is_signed else number) <= high:
        negative = f", or from -{high} to -{low}" if is_signed else ""
        raise _bad_value(element, "a number in the range", f"use a number from {low} to {high}{negative}")
    return number


def _bad_value(element: Token, noun: str, hint: str) -> Fault:
    message = f"{clip(element.text)!r} is not {noun}"
    return Fault("BAD_PARAMETER", message, element.start, max(element.end, element.start + 1), hint)


_PARTS: dict[str, tuple[str, Callable[[Token], Any]]] = {
    "FREQ": ("frequency", _read_frequency),
    "INTERVAL": ("interval", _number_reader(1, 999_999)),
    "COUNT": ("count", _number_reader(1, MAX_TIMES)),
    "UNTIL": ("until", read_stamp),
    "BYSECOND": ("seconds", _list_reader(0, 59)),
    "BYMINUTE": ("minutes", _list_reader(0, 59)),
    "BYHOUR": ("hours", _list_reader(0, 23)),
    "BYDAY": ("days", _read_days),
    "BYMONTHDAY": ("month_days", _list_reader(1, 31, is_signed=True)),
    "BYMONTH": ("months", _list_reader(1, 12)),
    "BYSETPOS": ("positions", _list_reader(1, 366, is_signed=True)),
    "WKST": ("week_start", _read_week_start),
}
