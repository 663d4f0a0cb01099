"""Terms of a schedule: its rule for clock changes, and its validity."""

from __future__ import annotations

from dataclasses import dataclass

from kron.timing.schedule.dst import AFTER_FIRST, WALL, Dst
from kron.timing.schedule.head import Moment

MAX_TIMES = 1_000_000


@dataclass(frozen=True, slots=True)
class Valid:
    """Validity: periods from `start` to `until`, both included, and of these the first `times`. None: no limit."""

    start: Moment | None = None
    until: Moment | None = None
    times: int | None = None


ALWAYS = Valid()


@dataclass(frozen=True, slots=True)
class Terms:
    """Rule for clock changes and validity. One value, so that plain schedules are recognized by one comparison."""

    dst: Dst = WALL
    valid: Valid = ALWAYS


PLAIN = Terms()
MOMENT_TERMS = Terms(AFTER_FIRST)  # of listed moments and intervals, which have one instant per wall-clock time
