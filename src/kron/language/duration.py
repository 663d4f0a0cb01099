"""Durations in the format of Go: 90m, 1h30m, 1.5s, 250ms. Values are nanoseconds."""

from __future__ import annotations

import re

from kron.errors import clip
from kron.language.fault import Fault

UNITS = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
_UNIT_SIZES = UNITS | {"µs": 1_000, "μs": 1_000}  # the micro sign, and the Greek letter
_MAX_NANOSECONDS = (1 << 63) - 1
_PART = re.compile(r"(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))([A-Za-zµμ]+)")
_DURATION_HINT = "write a duration such as 90m, 1h30m or 45s"


def read_duration(text: str) -> int:
    """Parse a duration that is not negative, and return its nanoseconds. Fractions of a nanosecond are dropped."""
    has_sign = text[:1] in ("+", "-")
    if text[has_sign:] == "0":
        return 0
    total, position = 0, int(has_sign)
    while part := _PART.match(text, position):
        whole, fraction, fraction_only, unit = part.groups()
        if unit not in _UNIT_SIZES:
            raise _unknown_unit(unit, part.start(4))
        total += _nanoseconds(whole or "", fraction or fraction_only or "", _UNIT_SIZES[unit])
        position = part.end()
    if position < len(text):
        lacks_unit = text[-1].isdigit() and not text[position:].strip("0123456789.")
        hint = f"add a unit: {clip(text)}s, {clip(text)}m or {clip(text)}h" if lacks_unit else _DURATION_HINT
        raise Fault("BAD_DURATION", f"{clip(text)!r} is not a valid duration", position, len(text), hint)
    if position == has_sign:
        raise Fault("BAD_DURATION", "duration is missing", 0, len(text), _DURATION_HINT)
    if total > _MAX_NANOSECONDS:
        hint = "use at most 2562047h, which is 292 years"
        raise Fault("DURATION_TOO_LONG", f"duration {clip(text)} is too long", 0, len(text), hint)
    if text[0] == "-" and total:
        raise Fault("NEGATIVE_DURATION", f"duration {clip(text)} is negative", 0, len(text), _DURATION_HINT)
    return total


def write_duration(nanoseconds: int) -> str:
    """Return the shortest text of a duration in nanoseconds: each unit at most once, without zeros."""
    parts = []
    for unit, size in UNITS.items():
        number, nanoseconds = divmod(nanoseconds, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"


def _nanoseconds(whole: str, fraction: str, unit: int) -> int:
    if len(whole) > 20:
        whole = whole.lstrip("0")
        if len(whole) > 20:
            return _MAX_NANOSECONDS + 1
    amount = int(whole or "0") * unit
    if fraction:
        fraction = fraction[:20]  # as in Go, further digits are ignored
        amount += int(fraction) * unit // 10 ** len(fraction)
    return amount


def _unknown_unit(unit: str, start: int) -> Fault:
    hint = f"use one of {', '.join(UNITS)}"
    if unit.lower() in UNITS:
        hint = f"did you mean '{unit.lower()}'?"
    elif unit[0] in "dw":
        hint = "write hours, such as 24h; days and weeks have no fixed length"
    return Fault("BAD_DURATION", f"unknown unit {clip(unit)!r}", start, start + len(unit), hint)
