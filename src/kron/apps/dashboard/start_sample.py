"""Start sample: how late the newest runs of a few schedules started, as p50 and p99.

The runs of all schedules have no index by time, so they are not read. The schedules are those that are due next: their
runs are read by key, and frequent schedules are among them more often than rare ones, as among all runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kron.apps.dashboard.figures import percentile
from kron.engine.overview import RecentPeriods

DAY_MS = 86_400_000


class StartSample(NamedTuple):
    """Lateness of starts, in milliseconds from the due time."""

    p50: int
    p99: int
    runs: int
    schedules: int


def start_sample(records: Iterable[RecentPeriods], now: int) -> StartSample | None:
    """Return how late scheduled runs of the last 24 hours started; None if none did. `now` is in milliseconds."""
    lateness, schedules = list[int](), 0
    for each in records:
        starts = [(run.due, run.started) for run in each.runs if run.started is not None and run.due > now - DAY_MS]
        lateness += [max(0, started - due) for due, started in starts]
        schedules += bool(starts)
    if not lateness:
        return None
    lateness.sort()
    return StartSample(percentile(lateness, 50), percentile(lateness, 99), len(lateness), schedules)
