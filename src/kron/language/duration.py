"""Durations as Go writes them: 90m, 1h30m, 1.5s, 250ms. In nanoseconds inside."""

from __future__ import annotations

import re

from kron.errors import clip
from kron.language.fields import Fault

UNITS = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
_LONGEST = (1 << 63) - 1
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_HINT = "write a duration such as 90m, 1h30m or 45s"


def read_duration(text: str) -> int:
    """The nanoseconds of a duration that may not be negative."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0
    total, at = 0, 0
    while at < len(body):
        part = _PART.match(body, at)
        if not part or not (part[1] or part[2]):
            raise Fault("BAD_DURATION", f"{clip(text)!r} is not a duration", 0, len(text), _hint(body, at))
        total += _nanoseconds(part[1], part[2] or "", UNITS[part[3].replace("µ", "u").replace("μ", "u")])
        at = part.end()
    if not body:
        raise Fault("BAD_DURATION", "a duration is missing", 0, len(text), _HINT)
    if total > _LONGEST:
        raise Fault("DURATION_TOO_LONG", f"{clip(text)} is longer than 292 years", 0, len(text))
    if text[0] == "-" and total:
        raise Fault("NEGATIVE_DURATION", f"the duration {clip(text)} is negative", 0, len(text), _HINT)
    return total


def write_duration(nanoseconds: int) -> str:
    """The shortest text of a duration: each unit once, none that is zero."""
    parts = []
    for unit, size in UNITS.items():
        number, nanoseconds = divmod(nanoseconds, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"


def _nanoseconds(whole: str, fraction: str, unit: int) -> int:
    whole, fraction = whole.lstrip("0"), fraction[:20]
    if len(whole) > 20:
        return _LONGEST + 1
    return int(whole or "0") * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)


def _hint(body: str, at: int) -> str:
    rest = body[at:].lstrip("0123456789.")
    if rest == "" and len(body) > 0:
        return f"add a unit: {clip(body)}s, {clip(body)}m or {clip(body)}h"
    if rest[:1] in ("d", "w"):
        return "days and weeks have no fixed length; write hours, such as 24h"
    return _HINT
