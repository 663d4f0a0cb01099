"""Pairing: which start of a command belongs to which period, for one user and one command.

A start has the time at which cron logged it. cron starts a command in the minute of its period, or later if cron itself
was late. Several lines of a crontab can have the same command, so that a minute can have several periods.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

MINUTE_MS = 60_000


class Pair(NamedTuple):
    """A period and its start, both by their position, and the instant of the start in milliseconds."""

    period: int
    start: int
    at: int


def pair(nominals: Sequence[int], starts: Sequence[Sequence[int]], max_late: int) -> list[Pair]:
    """Return the pairs of periods and starts. Each period and each start is in at most one pair.

    First, each start takes a free period of its own minute. Then each remaining start takes the latest free period
    of the minutes before it.

    Args:
        nominals: Nominal times of the periods, in seconds. Several can be equal.
        starts: For each start its possible instants in milliseconds: one, or two in the night of a clock change.
        max_late: Minutes by which a start can be late.
    """
    free = defaultdict[int, deque[int]](deque)  # periods by minute
    for position in sorted(range(len(nominals)), key=lambda each: (nominals[each], each)):
        free[nominals[position] // 60].append(position)
    pairs, waiting = list[Pair](), list[int]()
    ordered = sorted(range(len(starts)), key=lambda each: (tuple(starts[each]), each))
    for start in ordered:
        found = next((at for at in starts[start] if free.get(at // MINUTE_MS)), None)
        if found is None:
            waiting.append(start)
        else:
            pairs.append(Pair(free[found // MINUTE_MS].popleft(), start, found))
    for start in waiting:
        late = next(
            ((at, minute) for at in starts[start] for minute in _earlier(at, max_late) if free.get(minute)), None
        )
        if late is not None:
            pairs.append(Pair(free[late[1]].popleft(), start, late[0]))
    return sorted(pairs)


def _earlier(at: int, max_late: int) -> range:
    """Return the minutes before an instant, the latest first."""
    minute = at // MINUTE_MS
    return range(minute - 1, minute - max_late - 1, -1)
