"""Windows: the interval around a nominal time in which a run can be placed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

SECOND = 1_000_000_000  # nanoseconds


class Mode(StrEnum):
    """Position of the window: from the nominal time on, or half before and half after it."""

    AFTER = "after"
    AROUND = "around"


class Bounds(NamedTuple):
    """Start and end of the window of one period, in nanoseconds since 1970-01-01T00:00:00Z, both included."""

    start: int
    end: int

    @property
    def origin(self) -> int:
        """Second in which the window starts; draws are offsets from it."""
        return self.start // SECOND

    @property
    def first(self) -> int:
        """First whole second in the window."""
        return -(-self.start // SECOND)

    @property
    def last(self) -> int:
        """Last whole second in the window."""
        return self.end // SECOND


@dataclass(frozen=True, slots=True)
class Window:
    """Window of a schedule: a mode and a duration in nanoseconds."""

    mode: Mode = Mode.AFTER
    duration: int = 0
    # Derived once, so that decisions do not compute them again. The last three are seconds from the nominal time:
    anchor: float = field(init=False, repr=False, compare=False)  # nominal time: 0 = start, 0.5 = middle
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
        """Return the window of the period at the second `nominal`. Half of an odd duration is rounded down."""
        nominal_ns = nominal * SECOND
        if self.mode is Mode.AFTER:
            return Bounds(nominal_ns, nominal_ns + self.duration)
        return Bounds(nominal_ns - self.duration // 2, nominal_ns + self.duration // 2)


INSTANT = Window()
