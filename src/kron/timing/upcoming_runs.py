"""Upcoming runs of a schedule without stored state, with the periods between them that cannot run."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from kron.timing.decision import Decision, count_rejections, decide
from kron.timing.openings import SearchStep, search_periods, written_clauses
from kron.timing.period import Period, count_nominals, next_nominal
from kron.timing.recurrence import is_limited
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import possible
from kron.timing.upcoming import MAX_PERIODS_DECIDED, in_time_order, search_start, time_of
from kron.timing.zone import LATEST


class Unschedulable(NamedTuple):
    """Periods that cannot run: their number, and the clauses of the constraints that reject them."""

    periods: int = 0
    clauses: tuple[str, ...] = ()

    def joined(self, other: Unschedulable) -> Unschedulable:
        """Return both groups of periods as one."""
        return Unschedulable(self.periods + other.periods, tuple(dict.fromkeys(self.clauses + other.clauses)))


class UpcomingRun(NamedTuple):
    """A period that runs, and the unschedulable periods between the previous run and this one."""

    decision: Decision
    unschedulable: Unschedulable


class Bound(StrEnum):
    """Bound at which a search for runs ends."""

    NO_DAY = "no day"  # the cron fields match no date
    OVER = "over"  # the moments or the validity of the schedule have ended
    CALENDAR = "calendar"  # the calendar of Kron ends
    CONSTRAINTS = "constraints"  # the constraints allow no second of the next 100 years
    PERIODS = "periods"  # the maximum number of periods was decided
    CALLER = "caller"  # the caller ended the search


class SearchEnd(NamedTuple):
    """End of a search that found fewer runs than requested.

    Attributes:
        bound: The bound that was reached.
        upto: Second up to which all runs are known.
        unschedulable: The unschedulable periods after the last run.
    """

    bound: Bound
    upto: int
    unschedulable: Unschedulable


class UpcomingRuns(NamedTuple):
    """Upcoming runs in the order of their times, and why there are fewer than requested (None if there are not)."""

    runs: list[UpcomingRun]
    end: SearchEnd | None = None


def upcoming_runs(
    schedule: Schedule,
    identity: str,
    after: int,
    count: int,
    most: int = MAX_PERIODS_DECIDED,
    enough: Callable[[], bool] = lambda: False,
) -> UpcomingRuns:
    """Return the next `count` runs whose time is later than `after`, in the order of their times.

    Args:
        schedule: The schedule.
        identity: Identity that seeds the decisions.
        after: Instant in seconds since 1970-01-01 UTC.
        count: Number of runs.
        most: Maximum number of steps of the search. Each step decides one period, or leaps over periods that the
            constraints close.
        enough: Called before each step; the search ends when it returns True.
    """
    search = _Search(schedule, identity, after, most, enough)
    periods = search_periods(schedule, search_start(schedule, after))
    runs, unschedulable = list[UpcomingRun](), Unschedulable()
    for item in in_time_order(periods, search.placed, lambda step: step.nominal + schedule.window.first, search.stop):
        if isinstance(item, Unschedulable):
            unschedulable = unschedulable.joined(item)
            continue
        runs.append(UpcomingRun(item, unschedulable))
        unschedulable = Unschedulable()
        if len(runs) == count:
            return UpcomingRuns(runs)
    bound, upto = search.end()
    return UpcomingRuns(runs, SearchEnd(bound, upto, unschedulable))


class _Search:
    """A search for runs: what each of its steps gives, and how far it came."""

    def __init__(self, schedule: Schedule, identity: str, after: int, most: int, enough: Callable[[], bool]) -> None:
        self.schedule, self.identity, self.after, self.most, self.enough = schedule, identity, after, most, enough
        self.clauses = written_clauses(schedule.constraints)
        self.steps, self.last = 0, SearchStep(after)
        self.stopped: Bound | None = None

    def stop(self, step: SearchStep) -> bool:
        if self.steps >= self.most:
            self.stopped = Bound.PERIODS
        elif self.enough():
            self.stopped = Bound.CALLER
        self.steps, self.last = self.steps + 1, step
        return self.stopped is not None

    def placed(self, step: SearchStep) -> tuple[int, Decision | Unschedulable] | None:
        """Return the decision of an open period, or the number of closed ones. No run is between closed periods."""
        if step.closed_until is not None:
            first = max(step.nominal, self.after + 1)
            closed_count = count_nominals(self.schedule, first - 1, min(step.closed_until, LATEST))
            return (first, Unschedulable(closed_count, self.clauses)) if closed_count else None
        decision = decide(self.schedule, Period(step.nominal), self.identity)
        if time_of(decision) <= self.after:
            return None
        if decision.chosen is None:
            return step.nominal, Unschedulable(1, tuple(count_rejections(decision)))
        return decision.chosen, decision

    def end(self) -> tuple[Bound, int]:
        """Return the bound that ended the search, and the second up to which all runs are known."""
        if self.stopped is not None:
            return self.stopped, self.last.nominal + self.schedule.window.first - 1
        if not possible(self.schedule.cron):
            return Bound.NO_DAY, LATEST
        closed_until = self.last.closed_until
        if closed_until is not None and next_nominal(self.schedule, closed_until) is not None:
            return Bound.CONSTRAINTS, closed_until
        return Bound.OVER if is_limited(self.schedule) else Bound.CALENDAR, LATEST
