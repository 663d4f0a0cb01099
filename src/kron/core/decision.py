"""Decisions: the second of its window at which a period is to run.

The same schedule, period and identity give the same decision on every machine and in every release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kron.core.calendar import iso_week
from kron.core.period import Period
from kron.core.schedule import Schedule
from kron.core.schedule.chance import Strategy, draw
from kron.core.schedule.constraint import FREE, Reading
from kron.core.schedule.window import Bounds
from kron.core.zone import Wall, rfc3339

BUDGET = 64  # draws; then the period is unschedulable


class Decision(NamedTuple):
    """When a period is to run, with all that led there. `at` is None if no draw was admissible."""

    identity: str
    schedule: Schedule
    period: Period
    period_key: str
    seed_hash: str
    at: int | None
    attempts: int  # draws; none where there is no window to draw from

    @property
    def window(self) -> Bounds:
        """The stretch of time that `at` was to lie in."""
        return self.schedule.window.at(self.period.nominal)

    @property
    def unschedulable(self) -> bool:
        """Whether the constraints left no time to run."""
        return self.at is None


def decide(schedule: Schedule, period: Period, identity: str) -> Decision:
    """Choose the second at which the period runs."""
    key = period_key(schedule, period.nominal)
    seed_hash = schedule.seed.hash(checked(identity), key)
    at, tried = choose(schedule, period.nominal, seed_hash)
    return Decision(identity, schedule, period, key, seed_hash, at, tried)


def choose(schedule: Schedule, nominal: int, seed_hash: str) -> tuple[int | None, int]:
    """The first candidate that no constraint is against, if there is one; and how many were drawn."""
    at, tried = None, 0
    for candidate in candidates(schedule, nominal, seed_hash):
        tried += 1
        if not objection(schedule, candidate):
            at = candidate
            break
    return at, tried if schedule.window.duration else 0


def candidates(schedule: Schedule, nominal: int, seed_hash: str) -> Iterator[int]:
    """The seconds that are tried, in order: one for each draw, or the nominal time if there is no window."""
    window, place = schedule.window, schedule.distribution.place
    if not window.duration:
        yield nominal
        return
    origin, first, last = window.origin, window.first, window.last
    for n in range(1, BUDGET + 1):
        second = origin + int(place(draw(seed_hash, n), window.anchor, window.duration) * (last - origin + 1))
        yield nominal + (first if second < first else last if second > last else second)


def tally(decision: Decision) -> dict[str, int]:
    """How many candidates each clause refused before one was chosen, or none was."""
    refused: dict[str, int] = {}
    for candidate in candidates(decision.schedule, decision.period.nominal, decision.seed_hash):
        if candidate == decision.at:
            break
        clause = objection(decision.schedule, candidate)
        refused[clause] = refused.get(clause, 0) + 1
    return refused


def objection(schedule: Schedule, t: int) -> str:
    """Which constraint is against that second; empty if none is."""
    if schedule.constraints is FREE:  # as most are; then the wall clock need not be looked at
        return ""
    return schedule.constraints.objection(reading(schedule.zone.wall(t)))


def reading(wall: Wall) -> Reading:
    """What the constraints see of a wall clock."""
    return Reading(wall.day, wall.date.month, wall.date.day, wall.weekday, wall.hour * 60 + wall.minute)


def period_key(schedule: Schedule, nominal: int) -> str:
    """What the seed is drawn for: the period itself, its day or its ISO week on the wall calendar."""
    strategy = schedule.seed.strategy
    if strategy is Strategy.STABLE:
        return rfc3339(nominal)
    wall = schedule.zone.wall(nominal)
    return wall.date.text if strategy is Strategy.DAILY else iso_week(wall.day)


def checked(identity: str) -> str:
    """The identity, if it can be one: not empty, and without a line feed, which separates seed inputs."""
    if not identity or "\n" in identity:
        raise ValueError("an identity is a text of at least one character, without line feeds")
    return identity
