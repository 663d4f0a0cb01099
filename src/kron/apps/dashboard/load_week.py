"""Load of a week: the busiest minute of each local hour. An average would hide it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kron.rules.load import LoadInterval
from kron.timing.zone import Zone

SHADES = 6  # shades of cells with runs
HOURS = 24


class LoadCell(NamedTuple):
    """Hour of a day on the clock of the viewer. Where clocks go back, two hours share a cell."""

    hour: int
    busiest: int | None  # runs in its busiest minute; None if the hour has passed, or clocks skip it
    busiest_at: int | None  # seconds
    shade: int = 0


def week_of(intervals: Iterable[LoadInterval], zone: Zone, days: Sequence[int], now: int) -> list[list[LoadCell]]:
    """Return a line of 24 cells for each day.

    Args:
        intervals: Load of quarters of an hour, which no hour of any zone divides.
        zone: Zone of the viewer.
        days: Day numbers, one after another.
        now: Current time in seconds. Hours that have passed have no load.
    """
    cells = {(day, hour): LoadCell(hour, None, None) for day in days for hour in range(HOURS)}
    for interval in intervals:
        wall = zone.wall(interval.start)
        place = wall.day, wall.hour
        if place not in cells or interval.start // 3600 < now // 3600:
            continue
        known = cells[place]
        if known.busiest is None or interval.busiest > known.busiest:
            cells[place] = LoadCell(wall.hour, interval.busiest, interval.busiest_at)
    top = max((cell.busiest or 0 for cell in cells.values()), default=0)
    return [[_shaded(cells[day, hour], top) for hour in range(HOURS)] for day in days]


def worst_minutes(week: Iterable[Sequence[LoadCell]], limit: int) -> list[LoadCell]:
    """Return the hours with the busiest minutes, the worst first."""
    cells = [cell for line in week for cell in line if cell.busiest]
    return sorted(cells, key=lambda cell: (-(cell.busiest or 0), cell.busiest_at or 0))[:limit]


def _shaded(cell: LoadCell, top: int) -> LoadCell:
    return cell._replace(shade=-(-SHADES * cell.busiest // top)) if cell.busiest else cell
