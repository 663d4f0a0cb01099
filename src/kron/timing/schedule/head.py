"""Heads of a schedule other than cron fields: listed moments, and an interval of elapsed time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MAX_MOMENTS = 1_000
MAX_INTERVAL = 10 * 366 * 86_400  # seconds


class Moment(NamedTuple):
    """Date and time: a wall-clock time in the zone of the schedule, or an instant if `is_instant`. In seconds."""

    second: int
    is_instant: bool = False


@dataclass(frozen=True, slots=True)
class Moments:
    """Listed moments, one period each: `at 2026-12-01T09:00`. In ascending order, instants after wall-clock times."""

    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """Interval of elapsed time, with the first period at the anchor: `every 90m from 2026-01-01T00:00`."""

    seconds: int
    anchor: Moment
