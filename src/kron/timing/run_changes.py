"""Run changes: the runs of a schedule that differ between two tz databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

from kron.timing.decision import decide
from kron.timing.period import Period, nominals
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED
from kron.timing.schedule.sampling import Strategy
from kron.timing.zone import DAY, Zone
from kron.timing.zone_changes import differing_spans

Pair = tuple[int | None, int | None]  # a nominal time in the old and in the new database


class Change(StrEnum):
    """What another tz database does to a run."""

    MOVED = "moved"
    LOST = "lost"
    ADDED = "added"


class RunChange(NamedTuple):
    """Run whose time differs: the chosen time before and after, in seconds; None if there is no such run."""

    before: int | None
    after: int | None

    @property
    def kind(self) -> Change:
        """Whether the run is moved, lost or added."""
        return Change.ADDED if self.before is None else Change.LOST if self.after is None else Change.MOVED

    @property
    def at(self) -> int:
        """The earlier of its times, in seconds."""
        return min(time for time in self if time is not None)


def run_changes(schedule: Schedule, identity: str, zones: tuple[Zone, Zone], start: int, end: int) -> list[RunChange]:
    """Return the runs from `start` (included) to `end` (excluded) that differ, in the order of their times.

    A run at an instant at which the schedule runs in both databases is unchanged, even if its local time differs. Of
    the others, two runs with the same local nominal time are one run that moved.

    Args:
        schedule: The schedule.
        identity: Identity that seeds the decisions.
        zones: Its time zone in the old and in the new tz database.
        start: First instant, in seconds.
        end: End of the comparison, in seconds.
    """
    old, new = (replace(schedule, zone=zone) for zone in zones)
    changes, depends_on_local_time = list[RunChange](), _depends_on_local_time(schedule)
    for first, last in _intervals(schedule, zones, start - DAY, end + DAY):
        pairs = list[Pair]()
        unmatched = list[Pair]()
        for pair in _merged(*(nominals(each, first - 1, last) for each in (old, new))):
            if None in pair:
                unmatched.append(pair)
            elif depends_on_local_time:
                pairs.append(pair)
        pairs += _paired_by_local_time(zones, unmatched)
        changes += [RunChange(_chosen(old, identity, a), _chosen(new, identity, b)) for a, b in pairs]
    changes = [change for change in changes if change.before != change.after and start <= change.at < end]
    return sorted(changes, key=lambda change: change.at)


def _intervals(schedule: Schedule, zones: tuple[Zone, Zone], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the intervals of nominal times, both ends included, whose decisions can differ. They do not overlap."""
    window = schedule.window
    pending: tuple[int, int] | None = None
    for span in differing_spans(*zones, start, end):
        first, last = span.start - window.last, span.end - min(window.first, 0)
        if pending and first <= pending[1]:
            first = pending[0]
        elif pending:
            yield pending
        pending = (first, last)
    if pending:
        yield pending


def _depends_on_local_time(schedule: Schedule) -> bool:
    """Return whether two decisions for the same nominal time can differ."""
    return schedule.constraints is not UNCONSTRAINED or schedule.seed.strategy is not Strategy.STABLE


def _merged(old: Iterator[int], new: Iterator[int]) -> Iterator[Pair]:
    """Yield the nominal times of both databases in order: in pairs if they are equal. Does not store them."""
    before, after = next(old, None), next(new, None)
    while before is not None or after is not None:
        if before == after:
            yield before, after
            before, after = next(old, None), next(new, None)
        elif after is None or (before is not None and before < after):
            yield before, None
            before = next(old, None)
        else:
            yield None, after
            after = next(new, None)


def _paired_by_local_time(zones: tuple[Zone, Zone], unmatched: list[Pair]) -> Iterator[Pair]:
    """Yield pairs of nominal times with the same local time, and those without a partner; in a DST fold in order."""
    by_wall: dict[int, tuple[list[int], list[int]]] = {}
    for pair in unmatched:
        for side, t in enumerate(pair):
            if t is not None:
                by_wall.setdefault(t + zones[side].wall(t).offset, ([], []))[side].append(t)
    for before, after in by_wall.values():
        yield from zip_longest(before, after)


def _chosen(schedule: Schedule, identity: str, nominal: int | None) -> int | None:
    return None if nominal is None else decide(schedule, Period(nominal), identity).chosen
