"""Rare runs: coming and past runs of schedules that run at most monthly, by the days of the viewer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kron.apps.dashboard.outcome_look import Look, look_of_run
from kron.rules.calendar_facts import CalendarFacts, RareRun
from kron.rules.run import Run

MAX_LINES = 3  # coming and past runs that a day shows
MAX_NAMES = 50  # schedules whose past runs are read


class PastRun(NamedTuple):
    """Run that has been due."""

    at: int  # milliseconds: when it was due
    run: Run
    look: Look


class RareRuns(NamedTuple):
    """Runs of a day, and how many more coming ones there are."""

    runs: tuple[RareRun, ...] = ()
    more: int = 0
    past: tuple[PastRun, ...] = ()


def rare_names(facts: CalendarFacts) -> list[str]:
    """Return the schedules with a coming rare run, the first ones."""
    return list(dict.fromkeys(run.identity for day in facts.days for run in day.runs))[:MAX_NAMES]


def with_past_runs(days: Sequence[RareRuns], runs: Iterable[Run], bounds: Sequence[int]) -> list[RareRuns]:
    """Return the days with the runs that were due on them, earliest first; `bounds` are those of `rare_runs_by_day`."""
    past = [list[PastRun]() for _ in days]
    for run in sorted(runs, key=lambda each: (each.due, each.key)):
        number = bisect_right(bounds, run.due // 1000) - 1
        if 0 <= number < len(past):
            past[number].append(PastRun(run.due, run, look_of_run(run)))
    return [day._replace(past=tuple(each[:MAX_LINES])) for day, each in zip(days, past, strict=True)]


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
