"""The calendar of the trace oracle: the minutes around a day, walked one by one (tests/oracle.py)."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime
from functools import lru_cache

from tests.oracle import Tick, occurrences, walk

SPAN = 6 * 86_400  # seconds to either side


@lru_cache(64)
def minutes_of(date: str, zone: str) -> list[Tick]:
    """Every minute around a day."""
    noon = int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp())
    return walk(zone, noon - SPAN, noon + SPAN)


@lru_cache(4096)
def dues_of(date: str, zone: str, expression: str) -> list[int]:
    """The instants, in milliseconds, at which an expression is due around a day."""
    return [t * 1000 for t in occurrences(expression, minutes_of(date, zone))]


def next_due(dues: list[int], after: float) -> int | None:
    """The first due later than an instant."""
    index = bisect_right(dues, after)
    return dues[index] if index < len(dues) else None
