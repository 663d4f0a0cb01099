"""Minutes to stay away from, and the nearest minute of a window that does.

A minute counts from midnight of the day a window belongs to: negative on the day before, from 1440
on the day after. So the day of the week can follow.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kron.language.sentences.clocktime import DAY

PEAKS = (  # hours, minutes to avoid, the minute instead
    (range(6, 10), range(27, 34), 34),
    (range(14, 19), range(12, 19), 19),
    (range(14, 19), range(42, 49), 49),
)


class Kept(Enum):
    """Which rules a placed minute keeps, besides staying inside its window."""

    ALL = "off the hour and off the peaks"
    HOUR = "off the hour"
    NONE = "none"


class Placed(NamedTuple):
    """A minute inside its window."""

    minute: int
    kept: Kept


def avoid_hour_boundary(minute: int) -> int:
    """Minutes 0-4 move on by five and 55-59 back by five: everyone else's jobs start there."""
    if minute < 5:
        return minute + 5
    return minute - 5 if minute > 54 else minute


def avoid_peak_minutes(hour: int, minute: int) -> int:
    """Minutes near the half hour in the European morning, and near the quarters in the American day, move on."""
    for hours, minutes, instead in PEAKS:
        if hour in hours and minute in minutes:
            return instead
    return minute


def avoid(minute: int) -> int:
    """Both passes, in their order, on a minute of the day; the hour stays."""
    hour, minute = divmod(minute, 60)
    return hour * 60 + avoid_peak_minutes(hour, avoid_hour_boundary(minute))


# By minute of the day: how far the passes move it, and which rules it keeps by itself.
_MOVE = [avoid(minute) - minute for minute in range(DAY)]
_OFF_THE_HOUR = [avoid_hour_boundary(minute % 60) == minute % 60 for minute in range(DAY)]
_ADMISSIBLE = [move == 0 for move in _MOVE]


def place(raw: int, first: int, last: int) -> Placed:
    """The minute for a raw one: what the passes make of it or, where that leaves the window, the nearest good one.

    The window `first..last` includes both ends, and `raw`. Of two that are equally near the later is taken.
    Where the window has no minute off the peaks, one off the hour will do; where it has neither, `raw` stays.
    """
    passed = raw + _MOVE[raw % DAY]
    if first <= passed <= last:
        return Placed(passed, Kept.ALL)
    for good, kept in ((_ADMISSIBLE, Kept.ALL), (_OFF_THE_HOUR, Kept.HOUR)):
        for distance in range(max(raw - first, last - raw) + 1):
            later, earlier = raw + distance, raw - distance
            if later <= last and good[later % DAY]:
                return Placed(later, kept)
            if earlier >= first and good[earlier % DAY]:
                return Placed(earlier, kept)
    return Placed(raw, Kept.NONE)
