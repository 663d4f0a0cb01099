"""Tally: how many periods ended in which way, by the minute in which they were due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.scope import ALL, scope_of
from kron.rules.update import ScheduleUpdate

MINUTE_MS = 60_000


class End(NamedTuple):
    """End of one period, or of several that share a gap record."""

    identity: str
    due: int  # milliseconds; of a gap record the last of its periods
    state: State
    reason: Reason | None
    periods: int = 1


class TallyKey(NamedTuple):
    """What a counter counts: the scope, the minute since 1970 in which periods were due, and how they ended."""

    scope: str
    minute: int
    state: State
    reason: str  # empty without one


def end_of(run: Run) -> End:
    """Return the end of a run that has ended."""
    return End(run.identity, run.due, run.state, run.reason)


def end_of_gap(identity: str, gap: GapRecord) -> End:
    """Return the end of the periods of a gap record."""
    return End(identity, gap.last * 1000, State(gap.outcome.value), gap.reason, gap.count)


def ends_of(update: ScheduleUpdate) -> Iterator[End]:
    """Yield the periods that end with an update, in the order of their nominal times."""
    if update.gap:
        yield end_of_gap(update.after.identity, update.gap)
    ended_runs = [run for _, run in update.changed if not run.open] + [run for run in update.new if not run.open]
    yield from map(end_of, sorted(ended_runs, key=lambda run: run.nominal))


def tally(ends: Iterable[End]) -> Counter[TallyKey]:
    """Return the counters that ends add to: each counts for all schedules, and for its scope if it has one."""
    counters = Counter[TallyKey]()
    for identity, due, state, reason, count in ends:
        scope, minute, cause = scope_of(identity), due // MINUTE_MS, str(reason or "")
        counters[TallyKey(ALL, minute, state, cause)] += count
        if scope:
            counters[TallyKey(scope, minute, state, cause)] += count
    return counters
