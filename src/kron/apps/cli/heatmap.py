"""Schedule heatmap: number of schedules that start in each hour of a UTC week.

The heatmap reads only the hour and the weekday of a cron line. A line that selects days of the month is therefore
shown in every hour in which it can start. A line that cannot be parsed is omitted; the parser reports it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kron.language.grammar import DAY_NAMES

TITLE = "Schedule Heatmap (UTC)"
ROWS = (("Mon", 1), ("Tue", 2), ("Wed", 3), ("Thu", 4), ("Fri", 5), ("Sat", 6), ("Sun", 0))
BUCKETS = (("·", 0, "0"), ("░", 1, "1"), ("▒", 2, "2-3"), ("▓", 4, "4-6"), ("█", 7, "7+"))

_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_COLOURS = {"·": _DIM, "░": "\x1b[36m", "▒": "\x1b[32m", "▓": "\x1b[33m", "█": "\x1b[31m"}


def heatmap(crons: Iterable[str], *, colour: bool = False) -> str:
    """Return the heatmap of cron lines as printable text; empty if there are no lines."""
    lines = list(crons)
    if not lines:
        return ""
    counts = Counter(cell for line in lines for cell in _cells(line))
    return "\n".join(
        [
            "",
            f"ℹ {TITLE}",
            "",
            "     " + "".join(f"{hour:02d} " for hour in range(24)),
            *(f"{name}  " + "".join(_cell(counts[day, hour], colour) for hour in range(24)) for name, day in ROWS),
            "",
            "Legend: " + "".join(f"{_styled(glyph, colour)} = {text}   " for glyph, _, text in BUCKETS),
            "",
            "",
        ]
    )


def glyph_of(count: int) -> str:
    """Return the glyph for a number of schedules."""
    return next(glyph for glyph, minimum, _ in reversed(BUCKETS) if count >= minimum)


def _cell(count: int, colour: bool) -> str:
    return f"{_styled(glyph_of(count), colour)}  "


def _styled(glyph: str, colour: bool) -> str:
    return f"{_COLOURS[glyph]}{glyph}{_RESET}" if colour else glyph


def _cells(line: str) -> set[tuple[int, int]]:
    """Return the (weekday, hour) pairs of a cron line."""
    fields = line.split()
    if len(fields) != 5:
        return set()
    hours, days = _values(fields[1], 0, 23), _values(_without_names(fields[4]), 0, 7)
    return {(day % 7, hour) for day in days for hour in hours}


def _without_names(field: str) -> str:
    field = field.upper()
    for number, name in enumerate(DAY_NAMES):
        field = field.replace(name, str(number))
    return field


def _values(field: str, low: int, high: int) -> set[int]:
    """Return the values of a field; empty if any part of the field is invalid."""
    values: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span == "*":
            start, end = low, high
        else:
            start, end = _number(first), _number(last) if dash else high if slash else _number(first)
        stride = _number(step) if slash else 1
        if not low <= start <= end <= high or stride < 1:
            return set()
        values.update(range(start, end + 1, stride))
    return values


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else -1
