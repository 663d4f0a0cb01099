"""Decisions: the second of its window at which a period is to run.

The same schedule, period and identity give the same decision on every machine and in every release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import floor

from kron.core.calendar import iso_week
from kron.core.period import Period
from kron.core.schedule import Schedule
from kron.core.schedule.chance import Strategy, draws
from kron.core.schedule.constraint import Reading
from kron.core.schedule.window import Bounds
from kron.core.zone import Zone

BUDGET = 64  # draws; then the period is unschedulable


@dataclass(frozen=True, slots=True)
class Decision:
    """When a period is to run, with all that led there. `at` is None if no draw was admissible."""

    identity: str
    schedule: Schedule
    period: Period
    window: Bounds
    period_key: str
    seed_hash: str
    at: int | None
    attempts: int

    @property
    def unschedulable(self) -> bool:
        """Whether the constraints left no time to run."""
        return self.at is None


def decide(schedule: Schedule, period: Period, identity: str) -> Decision:
    """Choose the second at which the period runs."""
    window = schedule.window.at(period.nominal)
    key = period_key(schedule, period)
    seed_hash = schedule.seed.hash(checked(identity), key)
    free = schedule.constraints.only is None and schedule.constraints.avoid is None
    tried = 0
    for candidate in candidates(schedule, period, seed_hash):
        tried += 1
        if free or not objection(schedule, candidate):
            at = candidate
            break
    else:
        at = None
    attempts = tried if schedule.window.duration else 0  # without a window nothing is drawn
    return Decision(identity, schedule, period, window, key, seed_hash, at, attempts)


def candidates(schedule: Schedule, period: Period, seed_hash: str) -> Iterator[int]:
    """The seconds that are tried, in order."""
    window, duration, anchor = (
        schedule.window.at(period.nominal),
        schedule.window.duration,
        schedule.window.anchor,
    )
    if not duration:
        yield period.nominal
        return
    origin, first, width = window.origin, window.first, window.last - window.origin
    place = schedule.distribution.place
    for u in islice(draws(seed_hash), BUDGET):
        yield max(first, origin + min(width, floor(place(u, anchor, duration) * (width + 1))))


def tally(decision: Decision) -> dict[str, int]:
    """How many candidates each clause refused before one was chosen, or none was."""
    refused: dict[str, int] = {}
    for candidate in candidates(decision.schedule, decision.period, decision.seed_hash):
        if candidate == decision.at:
            break
        clause = objection(decision.schedule, candidate)
        refused[clause] = refused.get(clause, 0) + 1
    return refused


def objection(schedule: Schedule, t: int) -> str:
    """Which constraint is against that second; empty if none is."""
    return schedule.constraints.objection(reading(schedule.zone, t))


def reading(zone: Zone, t: int) -> Reading:
    """What the constraints see of the wall clock at an instant."""
    wall = zone.wall(t)
    return Reading(wall.day, wall.date.month, wall.date.day, wall.weekday, wall.hour * 60 + wall.minute)


def period_key(schedule: Schedule, period: Period) -> str:
    """What the seed is drawn for: the period itself, its day or its ISO week on the wall calendar."""
    strategy = schedule.seed.strategy
    if strategy is Strategy.STABLE:
        return period.id
    wall = schedule.zone.wall(period.nominal)
    return wall.date.text if strategy is Strategy.DAILY else iso_week(wall.day)


def checked(identity: str) -> str:
    """The identity, if it can be one: not empty, and without a line feed, which separates seed inputs."""
    if not identity or "\n" in identity:
        raise ValueError("an identity is a text of at least one character, without line feeds")
    return identity
