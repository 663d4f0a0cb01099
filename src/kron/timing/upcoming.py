"""Upcoming periods and decisions of a schedule. They depend on the schedule and an instant, not on stored state."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import count, islice, pairwise
from typing import TypeVar

from kron.timing.decision import Decision, decide
from kron.timing.period import Period, next_nominal, nominals
from kron.timing.schedule import Schedule
from kron.timing.zone import EARLIEST

P = TypeVar("P")
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
        most: Maximum number of periods that are decided. Decisions that a later period can precede are left out.
    """
    decided = count()

    def placed(nominal: int) -> tuple[int, Decision] | None:
        decision = decide(schedule, Period(nominal), identity)
        decision_time = time_of(decision)
        return (decision_time, decision) if decision_time > after else None

    return in_time_order(
        nominals(schedule, search_start(schedule, after)),
        placed,
        lambda nominal: nominal + schedule.window.first,
        lambda _: next(decided) >= most,
    )


def search_start(schedule: Schedule, after: int) -> int:
    """Return the second after which the periods can have a time later than `after`. No period precedes `EARLIEST`."""
    return max(after - schedule.window.last, EARLIEST) - 1


def time_of(decision: Decision) -> int:
    """Return the chosen time of a decision in seconds, or the nominal time if the period is unschedulable."""
    return decision.period.nominal if decision.chosen is None else decision.chosen


def in_time_order(
    periods: Iterable[P],
    placed: Callable[[P], tuple[int, T] | None],
    earliest: Callable[[P], int],
    stop: Callable[[P], bool],
) -> Iterator[T]:
    """Yield what `placed` makes of each period, in the order of the times that it returns.

    Windows can overlap, so a later period can have an earlier time. A value is yielded as soon as no later period can
    precede it.

    Args:
        periods: Periods in the order of their nominal times.
        placed: Returns the time and the value of a period; None leaves the period out.
        earliest: Returns the earliest time that a period can have.
        stop: Called before each period is placed. True ends the search, and values that this period or a later one
            can precede are not yielded.
    """
    pending = list[tuple[int, int, T]]()
    for number, period in enumerate(periods):
        earliest_time = earliest(period)
        while pending and pending[0][0] <= earliest_time:
            yield pending.pop(0)[2]
        if stop(period):
            return
        entry = placed(period)
        if entry is not None:
            insort(pending, (entry[0], number, entry[1]))  # no two entries have the same number
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
