"""Rare runs: coming runs of schedules that run at most monthly, by the days of the viewer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from kron.rules.calendar_facts import CalendarFacts, RareRun

MAX_LINES = 3  # runs that a day shows


class RareRuns(NamedTuple):
    """Runs of a day, and how many more there are."""

    runs: tuple[RareRun, ...] = ()
    more: int = 0


def rare_runs_by_day(facts: CalendarFacts, bounds: Sequence[int], now: int) -> list[RareRuns]:
    """Return the coming runs of each day.

    Args:
        facts: The facts.
        bounds: Starts of consecutive days in seconds, and the end of the last one.
        now: Current time in seconds.
    """
    runs, more = [list[RareRun]() for _ in bounds[1:]], [0] * (len(bounds) - 1)
    for day in facts.days:
        coming = [run for run in day.runs if run.at >= now * 1000]
        numbers = [bisect_right(bounds, run.at // 1000) - 1 for run in coming]
        for number, run in zip(numbers, coming, strict=True):
            if 0 <= number < len(runs):
                runs[number].append(run)
        if coming and 0 <= numbers[-1] < len(runs):  # those without a name are later than the ones with a name
            more[numbers[-1]] += day.total - len(day.runs)
    return [
        RareRuns(tuple(sorted(each)[:MAX_LINES]), unnamed + max(0, len(each) - MAX_LINES))
        for each, unnamed in zip(runs, more, strict=True)
    ]
