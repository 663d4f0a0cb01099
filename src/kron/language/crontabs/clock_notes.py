"""Notes about clock changes: what cron does with a fixed time that is skipped or repeated, and what Kron does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.dst import AFTER_FIRST
from kron.timing.zone import DAY, Shift, wall_text

SEARCHED = 10 * 366 * DAY  # seconds in which clock changes are searched
LONG_GAP = 3 * 3_600  # seconds; cron does not run the times in a gap of this length
_MAX_TIMES = 60 * 24 + 1  # listed times in a gap that are counted


def clock_notes(schedule: Schedule, now: int) -> Iterator[str]:
    """Yield a note about the next DST gap and the next DST fold that affect a line with fixed times.

    A line with `*` in its minute or hour follows the clock on the wall in cron and in Kron, and needs no note.

    Args:
        schedule: Schedule of a crontab line.
        now: Instant from which clock changes are searched, in seconds since the epoch.
    """
    cron, zone = schedule.cron, schedule.zone
    if not isinstance(cron, Cron) or schedule.terms.dst != AFTER_FIRST or zone.fixed is not None:
        return
    reported = set[bool]()
    for shift in zone.shifts(now, now + SEARCHED):
        is_gap = shift.after > shift.before
        low, high = sorted((shift.at + shift.before, shift.at + shift.after))
        times = list(islice(_times(cron, low, high), _MAX_TIMES))
        if is_gap in reported or not times or times[0] >= high:
            continue
        reported.add(is_gap)
        place = f"{wall_text(times[0])} {{}} in {zone.name}."
        yield (
            f"{place.format('does not exist')} {_gap_text(shift, len(times))}"
            if is_gap
            else (f"{place.format('occurs twice')} cron runs the job the first time only. Kron does the same.")
        )


def _times(cron: Cron, low: int, high: int) -> Iterator[int]:
    """Yield the matching wall-clock times from `low` to `high`, both included."""
    wall = cron.after(low - 1)
    while wall is not None and wall <= high:
        yield wall
        wall = cron.after(wall)


def _gap_text(shift: Shift, count: int) -> str:
    """Return what happens after a gap that skips listed times. `count` includes a listed time at its end."""
    end = wall_text(shift.at + shift.after)[11:]
    if shift.after - shift.before >= LONG_GAP:
        return f"cron does not run the job. Kron runs it once, at {end}."
    if count > 1:
        return f"cron runs the job {count} times after the change. Kron runs it once, at {end}."
    return f"cron runs the job at {end}. Kron does the same."
