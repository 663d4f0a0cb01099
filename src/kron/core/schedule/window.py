"""Windows: the stretch of time around a nominal time in which a run may be placed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

SECOND = 1_000_000_000  # nanoseconds


class Mode(StrEnum):
    """Where the window lies: from the nominal time on, or half before and half after it."""

    AFTER = "after"
    AROUND = "around"


class Bounds(NamedTuple):
    """A window with its place in time, in nanoseconds from 1970-01-01T00:00:00Z, both ends included."""

    start: int
    end: int

    @property
    def origin(self) -> int:
        """The second in which the window opens; draws are counted from it."""
        return self.start // SECOND

    @property
    def first(self) -> int:
        """The first whole second inside."""
        return -(-self.start // SECOND)

    @property
    def last(self) -> int:
        """The last whole second inside."""
        return self.end // SECOND


@dataclass(frozen=True, slots=True)
class Window:
    """A mode and a duration in nanoseconds."""

    mode: Mode = Mode.AFTER
    duration: int = 0
    # Derived, so that a decision computes nothing twice; the last three are seconds from the nominal time:
    anchor: float = field(init=False, repr=False, compare=False)  # where nominal lies: 0 = start, 0.5 = middle
    origin: int = field(init=False, repr=False, compare=False)
    first: int = field(init=False, repr=False, compare=False)
    last: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bounds = self.at(0)
        object.__setattr__(self, "anchor", 0.0 if self.mode is Mode.AFTER else 0.5)
        object.__setattr__(self, "origin", bounds.origin)
        object.__setattr__(self, "first", bounds.first)
        object.__setattr__(self, "last", bounds.last)

    def at(self, nominal: int) -> Bounds:
        """The window of the period at that second. Half of an odd duration is rounded down, each side."""
        n = nominal * SECOND
        if self.mode is Mode.AFTER:
            return Bounds(n, n + self.duration)
        return Bounds(n - self.duration // 2, n + self.duration // 2)


INSTANT = Window()
