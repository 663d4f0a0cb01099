"""Texts of iCalendar recurrences (RFC 5545): DTSTART, RRULE and EXDATE, and the dates and times in them."""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.errors import clip
from kron.language.fault import Fault
from kron.language.modifier_args import read_part, read_zone
from kron.language.tokens import Token
from kron.timing.calendar import Date, day_of
from kron.timing.zone import DAY, EARLIEST, LATEST, UTC_ZONE, Zone

_LINE = re.compile(r"[A-Za-z]+;[^:\s]*TZID=[^:\n]*:\S*|\S+", re.IGNORECASE)  # a TZID can have spaces
_NAME = re.compile(r"[A-Za-z-]+", re.ASCII)
_TIME = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z?))?", re.ASCII)
_KNOWN = ("DTSTART", "RRULE", "EXDATE")
_START = "DTSTART:20260105T090000"
_EXAMPLE = f"{_START} RRULE:FREQ=DAILY"
_ADD_START = f"add the first run, as in {_EXAMPLE}"
_MAX_HINT_LENGTH = 200  # characters of a text that a hint repeats


class Property(NamedTuple):
    """Property of a recurrence: its name with its position, its parameters and its value."""

    name: Token
    parameters: dict[str, Token]
    value: Token


class Stamp(NamedTuple):
    """Date, or date and time. The wall-clock time of a date is midnight."""

    wall: int
    is_date: bool
    is_utc: bool


class Recurrence(NamedTuple):
    """Recurrence as written. `zone` is None if DTSTART names none."""

    start: Stamp
    zone: Zone | None
    rule: Property
    exclusions: tuple[Property, ...]


def read_recurrence(text: str) -> Recurrence:
    """Return the parts of a recurrence: one DTSTART, one RRULE, and any number of EXDATE."""
    properties = [_read_property(Token(match[0], match.start())) for match in _LINE.finditer(text)]
    named = {name: [each for each in properties if each.name.text == name] for name in _KNOWN}
    for name in ("DTSTART", "RRULE"):
        if len(named[name]) > 1:
            place = named[name][1].name
            raise Fault("DUPLICATE_PARAMETER", f"duplicate {name}", place.start, place.end, "keep one of them")
    if not named["DTSTART"]:
        hint = f"add the first run: {_START} {' '.join(text.split())}" if len(text) <= _MAX_HINT_LENGTH else _ADD_START
        raise Fault("NO_ANCHOR", "a recurrence needs DTSTART, from which it counts", 0, len(text), hint)
    if not named["RRULE"]:
        hint = f"add the rule, as in {_EXAMPLE}"
        raise Fault("BAD_PARAMETER", "a recurrence needs RRULE", 0, len(text), hint)
    start = named["DTSTART"][0]
    stamp = read_stamp(start.value)
    return Recurrence(stamp, zone_of(start, stamp), named["RRULE"][0], tuple(named["EXDATE"]))


def zone_of(stamped: Property, stamp: Stamp) -> Zone | None:
    """Return the zone of a property with a date and time: its TZID, or UTC if it ends with Z; otherwise None."""
    zone_name = stamped.parameters.get("TZID")
    if zone_name is None:
        return UTC_ZONE if stamp.is_utc else None
    if stamp.is_utc:
        raise Fault("TWO_ZONES", "the time has both TZID and Z", zone_name.start, zone_name.end, "keep one of them")
    zone: Zone = read_part(read_zone, zone_name)
    return zone


def read_stamp(value: Token) -> Stamp:
    """Return a date such as 20260105, or a date and time such as 20260105T090000 or 20260105T090000Z."""
    match = _TIME.fullmatch(value.text)
    if not match:
        hint = "write a date and a time such as 20260105T090000, or a date such as 20260105"
        message = f"{clip(value.text)!r} is not a date and time"
        raise Fault("BAD_MOMENT", message, value.start, max(value.end, value.start + 1), hint)
    day = day_of(Date(int(match[1]), int(match[2]), int(match[3])))
    hour, minute, second = (int(match[group] or 0) for group in (4, 5, 6))
    if day is None or hour > 23 or minute > 59 or second > 59:
        hint = "choose a day that the month has, and a time from 000000 to 235959"
        raise Fault("BAD_MOMENT", f"{value.text} does not exist", value.start, value.end, hint)
    wall = day * DAY + hour * 3_600 + minute * 60 + second
    if not EARLIEST + 2 * DAY < wall < LATEST - 2 * DAY:
        raise Fault("BAD_MOMENT", f"{value.text} is too far away", value.start, value.end, "choose another year")
    return Stamp(wall, match[4] is None, match[7] == "Z")


def _read_property(word: Token) -> Property:
    head, colon, value = word.text.partition(":")
    name, *parameters = head.split(";")
    token = Token(name.upper() if _NAME.fullmatch(name) else name, word.start)
    if not colon or token.text not in _KNOWN:
        raise _unknown_property(word, token, bool(colon))
    position, known = word.start + len(name) + 1, dict[str, Token]()
    for parameter in parameters:
        key, equals, text = parameter.partition("=")
        if key.upper() not in ("TZID", "VALUE") or not equals or token.text == "RRULE":
            message = f"unknown parameter {clip(key)!r} of {token.text}"
            hint = "use TZID=Europe/Paris or VALUE=DATE, or remove it"
            raise Fault("UNKNOWN_PARAMETER", message, position, position + max(len(parameter), 1), hint)
        quotes = len(text) - len(text.lstrip('"'))
        known[key.upper()] = Token(text.strip('"'), position + len(key) + 1 + quotes)
        position += len(parameter) + 1
    return Property(token, known, Token(value, word.start + len(head) + 1))


def _unknown_property(word: Token, name: Token, has_value: bool) -> Fault:
    if name.text in ("RDATE", "EXRULE") and has_value:
        message = f"{name.text} cannot be expressed"
        return Fault("NOT_SAYABLE", message, name.start, name.end, "list the moments: at 2026-12-01T09:00,…")
    hint = f"write {_EXAMPLE}"
    if word.text.upper().startswith("FREQ=") and len(word.text) <= _MAX_HINT_LENGTH:
        hint = f"add the first run: {_START} RRULE:{word.text}"
    return Fault("UNEXPECTED_TOKEN", f"unknown property {clip(name.text)!r}", word.start, word.end, hint)
