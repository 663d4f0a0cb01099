"""Upcoming periods and decisions of a schedule. They depend on the schedule and an instant, not on stored state."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice, pairwise
from typing import TypeVar

from kron.timing.decision import Decision, decide
from kron.timing.period import Period, next_nominal, nominals
from kron.timing.schedule import Schedule

T = TypeVar("T")

MAX_PERIODS_DECIDED = 20_000
MAX_PERIODS_COMPARED = 100  # upcoming periods that are compared for their minimum interval
MAX_SECONDS_COMPARED = 400 * 86_400  # maximum time range of these periods


def upcoming_decisions(
    schedule: Schedule, identity: str, after: int, most: int = MAX_PERIODS_DECIDED
) -> Iterator[Decision]:
    """Yield the decisions whose time is later than `after`, in the order of their times.

    The window of a period can reach past `after`, so periods with an earlier nominal time can be among them.
    Unschedulable periods are included, at their nominal time.

    Args:
        schedule: The schedule.
        identity: Identity that seeds the decisions.
        after: Instant in seconds since 1970-01-01 UTC.
        most: Maximum number of periods that are decided.
    """

    def placed(nominal: int) -> tuple[int, Decision] | None:
        decision = decide(schedule, Period(nominal), identity)
        decision_time = time_of(decision)
        return (decision_time, decision) if decision_time > after else None

    nominal_times = islice(nominals(schedule, after - schedule.window.last - 1), most)
    return in_time_order(nominal_times, placed, lambda nominal: nominal + schedule.window.first)


def time_of(decision: Decision) -> int:
    """Return the chosen time of a decision in seconds, or the nominal time if the period is unschedulable."""
    return decision.period.nominal if decision.chosen is None else decision.chosen


def in_time_order(
    periods: Iterable[int], placed: Callable[[int], tuple[int, T] | None], earliest: Callable[[int], int]
) -> Iterator[T]:
    """Yield what `placed` makes of each period, in the order of the times that it returns.

    Windows can overlap, so a later period can have an earlier time. A value is yielded as soon as no later period can
    precede it.

    Args:
        periods: Nominal times in ascending order.
        placed: Returns the time and the value of a period; None leaves the period out.
        earliest: Returns the earliest time that a period can have.
    """
    pending = list[tuple[int, int, T]]()
    for nominal in periods:
        earliest_time = earliest(nominal)
        while pending and pending[0][0] <= earliest_time:
            yield pending.pop(0)[2]
        entry = placed(nominal)
        if entry is not None:
            insort(pending, (entry[0], nominal, entry[1]))  # no two entries have the same nominal time
    for _, _, value in pending:
        yield value


@lru_cache(16_384)  # many schedules that are defined together share their text
def minimum_interval(schedule: Schedule, after: int) -> int | None:
    """Return the minimum number of seconds between two periods after `after`.

    At most 100 periods within 400 days are compared.

    Returns:
        The seconds; None if the schedule has a single period; 0 if it has none.
    """
    first = next_nominal(schedule, after)
    if first is None:
        return 0
    nominal_times = islice(nominals(schedule, after, first + MAX_SECONDS_COMPARED - 1), MAX_PERIODS_COMPARED)
    return min((later - earlier for earlier, later in pairwise(nominal_times)), default=None)
