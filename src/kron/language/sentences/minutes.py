"""Minutes to avoid, and the nearest minute of a window that avoids them.

A minute counts from midnight of the day of the window: it is negative on the day before, and 1440 or more on the day
after. So the weekday can be derived from it.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kron.language.sentences.clocktime import DAY

PEAKS = (  # hours, minutes to avoid, replacement minute
    (range(6, 10), range(27, 34), 34),
    (range(14, 19), range(12, 19), 19),
    (range(14, 19), range(42, 49), 49),
)


class SatisfiedRules(Enum):
    """Rules that a placed minute satisfies in addition to being in its window."""

    ALL = "off the hour and off the peaks"
    HOUR = "off the hour"
    NONE = "none"


class PlacedMinute(NamedTuple):
    """Minute in its window, and the rules that it satisfies."""

    minute: int
    rules: SatisfiedRules


def avoid_hour_boundary(minute: int) -> int:
    """Move minutes 0-4 forward by 5 and 55-59 back by 5, because most other jobs start near the full hour."""
    if minute < 5:
        return minute + 5
    return minute - 5 if minute > 54 else minute


def avoid_peak_minutes(hour: int, minute: int) -> int:
    """Move minutes near the half hour in the European morning, and near the quarters in the American day, forward."""
    for hours, minutes, replacement in PEAKS:
        if hour in hours and minute in minutes:
            return replacement
    return minute


def avoid(minute: int) -> int:
    """Apply both rules in their order to a minute of the day. The hour does not change."""
    hour, minute = divmod(minute, 60)
    return hour * 60 + avoid_peak_minutes(hour, avoid_hour_boundary(minute))


# By minute of the day: how far the rules move it, and which rules it satisfies without a move.
_MOVE = [avoid(minute) - minute for minute in range(DAY)]
_OFF_THE_HOUR = [avoid_hour_boundary(minute % 60) == minute % 60 for minute in range(DAY)]
_ADMISSIBLE = [move == 0 for move in _MOVE]


def place(raw: int, first: int, last: int) -> PlacedMinute:
    """Return the minute for `raw`: the result of the rules or, if that is outside the window, the nearest allowed one.

    The window `first..last` includes both ends, and contains `raw`. Of two equally near minutes, the later is used.
    If the window has no minute outside the peaks, a minute away from the full hour is enough. If it has neither,
    `raw` is unchanged.
    """
    moved = raw + _MOVE[raw % DAY]
    if first <= moved <= last:
        return PlacedMinute(moved, SatisfiedRules.ALL)
    for allowed_minutes, rules in ((_ADMISSIBLE, SatisfiedRules.ALL), (_OFF_THE_HOUR, SatisfiedRules.HOUR)):
        for distance in range(max(raw - first, last - raw) + 1):
            later, earlier = raw + distance, raw - distance
            if later <= last and allowed_minutes[later % DAY]:
                return PlacedMinute(later, rules)
            if earlier >= first and allowed_minutes[earlier % DAY]:
                return PlacedMinute(earlier, rules)
    return PlacedMinute(raw, SatisfiedRules.NONE)
