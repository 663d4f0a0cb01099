"""Windows: the stretch of time around a nominal time in which a run may be placed."""

from __future__ import annotations

from dataclasses import dataclass
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

    def at(self, nominal: int) -> Bounds:
        """The window of the period at that second. Half of an odd duration is rounded down, each side."""
        n = nominal * SECOND
        if self.mode is Mode.AFTER:
            return Bounds(n, n + self.duration)
        return Bounds(n - self.duration // 2, n + self.duration // 2)

    @property
    def anchor(self) -> float:
        """Where in the window the nominal time lies: 0 at its start, 0.5 in the middle."""
        return 0.0 if self.mode is Mode.AFTER else 0.5


INSTANT = Window()
