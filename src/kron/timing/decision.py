"""Decisions: the chosen second of a period's window.

The same schedule, period and identity give the same decision on every machine and in every release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kron.timing.calendar import iso_week
from kron.timing.period import Period
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED, Reading
from kron.timing.schedule.sampling import Strategy, draw
from kron.timing.schedule.window import Bounds
from kron.timing.wall import Wall
from kron.timing.zone import rfc3339

MAX_DRAWS = 64  # draws per period; if the constraints reject all of them, the period is unschedulable


class Decision(NamedTuple):
    """Chosen time of a period, with all inputs and intermediate results.

    Attributes:
        identity: Identity of the schedule.
        schedule: The schedule.
        period: The period.
        period_key: Text that stands for the period in the seed: the period, its day, or its ISO week.
        seed_hash: SHA-256 of identity, period key and salt, in hex.
        chosen: The chosen second since 1970-01-01 UTC; None if the constraints rejected every candidate.
        draws: Number of candidates that were drawn; 0 if the schedule has no window.
    """

    identity: str
    schedule: Schedule
    period: Period
    period_key: str
    seed_hash: str
    chosen: int | None
    draws: int  # 0 without a window to draw from

    @property
    def window(self) -> Bounds:
        """Window in which the chosen time must be."""
        return self.schedule.window.at(self.period.nominal)

    @property
    def unschedulable(self) -> bool:
        """Whether the constraints rejected every candidate."""
        return self.chosen is None


def decide(schedule: Schedule, period: Period, identity: str) -> Decision:
    """Choose the second at which the period runs.

    Args:
        schedule: The schedule.
        period: One of its periods.
        identity: Identity that seeds the decision.

    Raises:
        ValueError: The identity is empty or contains a line feed.
    """
    key = period_key(schedule, period.nominal)
    seed_hash = schedule.seed.hash(checked_identity(identity), key)
    chosen, draw_count = choose(schedule, period.nominal, seed_hash)
    return Decision(identity, schedule, period, key, seed_hash, chosen, draw_count)


def choose(schedule: Schedule, nominal: int, seed_hash: str) -> tuple[int | None, int]:
    """Return the first candidate that satisfies the constraints, or None, and the number of draws."""
    chosen, draw_count = None, 0
    for candidate in candidates(schedule, nominal, seed_hash):
        draw_count += 1
        if not violated_clause(schedule, candidate):
            chosen = candidate
            break
    return chosen, draw_count if schedule.window.duration else 0


def candidates(schedule: Schedule, nominal: int, seed_hash: str) -> Iterator[int]:
    """Yield the candidate seconds in order: one for each draw, or only the nominal time if there is no window."""
    window, place = schedule.window, schedule.distribution.place
    if not window.duration:
        yield nominal
        return
    origin, first, last = window.origin, window.first, window.last
    for draw_number in range(1, MAX_DRAWS + 1):
        offset = origin + int(place(draw(seed_hash, draw_number), window.anchor, window.duration) * (last - origin + 1))
        yield nominal + (first if offset < first else last if offset > last else offset)


def count_rejections(decision: Decision) -> dict[str, int]:
    """Return how many candidates each clause rejected, up to the chosen one, or in total if none was chosen."""
    rejections: dict[str, int] = {}
    for candidate in candidates(decision.schedule, decision.period.nominal, decision.seed_hash):
        if candidate == decision.chosen:
            break
        clause = violated_clause(decision.schedule, candidate)
        rejections[clause] = rejections.get(clause, 0) + 1
    return rejections


def violated_clause(schedule: Schedule, t: int) -> str:
    """Return the clause that rejects the second `t`, such as `only hours`; empty if none does."""
    if schedule.constraints is UNCONSTRAINED:  # the usual case: skip the conversion to local time
        return ""
    return schedule.constraints.violated_clause(reading(schedule.zone.wall(t)))


def reading(wall: Wall) -> Reading:
    """Return the part of a local time that constraints look at."""
    return Reading(wall.day, wall.date.month, wall.date.day, wall.weekday, wall.hour * 60 + wall.minute)


def period_key(schedule: Schedule, nominal: int) -> str:
    """Return the text that stands for the period in the seed: the period, or its local day or ISO week."""
    strategy = schedule.seed.strategy
    if strategy is Strategy.STABLE:
        return rfc3339(nominal)
    wall = schedule.zone.wall(nominal)
    return wall.date.text if strategy is Strategy.DAILY else iso_week(wall.day)


def checked_identity(identity: str) -> str:
    """Return the identity if it is valid. A line feed is not allowed because it separates the inputs of the seed.

    Raises:
        ValueError: The identity is empty or contains a line feed.
    """
    if not identity or "\n" in identity:
        raise ValueError("identity must be a non-empty text without line feeds")
    return identity
