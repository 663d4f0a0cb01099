"""Local days: when a day of the calendar begins in a zone. A day can have 23, 24 or 25 hours, or none."""

from __future__ import annotations

from collections.abc import Sequence

from kron.timing.zone import DAY, Zone

REACH = 2 * DAY  # no zone is further from UTC, and no clock change moved a clock by more


def day_start(zone: Zone, day: int) -> int:
    """Return the first second at which the local date is that of a day number, or later.

    A day that a zone left out starts when the following day starts. Where the clocks go back over midnight, the day
    starts when its date is shown first.
    """
    midnight = day * DAY
    for start, end, offset in zone.spells_between(midnight - REACH, midnight + REACH):
        first = max(start, midnight - offset)
        if first < end:
            return first
    raise AssertionError("every day starts within two days of its midnight in UTC")


def day_bounds(zone: Zone, days: Sequence[int]) -> list[int]:
    """Return the starts of consecutive days, in seconds, and the end of the last one."""
    return [day_start(zone, day) for day in (*days, days[-1] + 1)]
