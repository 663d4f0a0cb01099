"""Scales of durations: round values from which the labels of an axis are taken."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import log1p

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000  # milliseconds
ROUND_DURATIONS = (
    *(100, 200, 500, 1 * SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 20 * SECOND, 30 * SECOND),
    *(1 * MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE),
    *(1 * HOUR, 2 * HOUR, 5 * HOUR, 12 * HOUR, 1 * DAY, 2 * DAY, 7 * DAY, 30 * DAY),
)
LOG_TICKS = (0, 100, 1 * SECOND, 10 * SECOND, 1 * MINUTE, 10 * MINUTE, 1 * HOUR, 6 * HOUR, 1 * DAY, 7 * DAY, 30 * DAY)
MIN_LOG_TICKS = 4  # a scale shows at least the time up to 10 s


def round_up(duration: int) -> int:
    """Return the first round duration that is not shorter; the longest one if none is. All are in milliseconds."""
    return ROUND_DURATIONS[min(bisect_left(ROUND_DURATIONS, duration), len(ROUND_DURATIONS) - 1)]


def log_ticks(longest: int) -> tuple[int, ...]:
    """Return the ticks of a logarithmic scale that reaches at least up to a duration, in milliseconds."""
    return LOG_TICKS[: max(MIN_LOG_TICKS, bisect_left(LOG_TICKS, longest) + 1)]


def log_share(duration: int, ticks: Sequence[int]) -> float:
    """Return the position of a duration on a scale, from 0 to 1. The ticks are evenly spaced.

    Between two ticks the scale is logarithmic. A duration beyond the last tick is at the end.
    """
    if duration <= 0:
        return 0.0
    index = min(bisect_left(ticks, duration), len(ticks) - 1)
    low, high = ticks[index - 1], ticks[index]
    part = (log1p(duration) - log1p(low)) / (log1p(high) - log1p(low))
    return (index - 1 + min(1.0, part)) / (len(ticks) - 1)
