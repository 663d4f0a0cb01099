"""Constraints: which seconds of a window may be chosen, by what the wall clock shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Reading(NamedTuple):
    """What of a wall clock and calendar the constraints look at. `day` counts from 1970-01-01."""

    day: int
    month: int
    day_of_month: int
    weekday: int
    minute: int  # of the day


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of one @only or @avoid. In a set, bit n stands for n; an empty one was not written.

    The values of one clause are alternatives. Ends are included; `between` may run across midnight.
    """

    hours: int = 0
    dow: int = 0
    dom: int = 0
    months: int = 0
    between: tuple[tuple[int, int], ...] = ()  # minutes of the day
    dates: tuple[tuple[int, int], ...] = ()  # days from 1970-01-01

    def verdicts(self, at: Reading) -> Iterator[tuple[str, bool]]:
        """Each clause that was written, by key, and whether it holds."""
        if self.hours:
            yield "hours", bool(self.hours >> at.minute // 60 & 1)
        if self.dow:
            yield "dow", bool(self.dow >> at.weekday & 1)
        if self.dom:
            yield "dom", bool(self.dom >> at.day_of_month & 1)
        if self.months:
            yield "months", bool(self.months >> at.month & 1)
        if self.between:
            yield "between", any(_within(at.minute, a, b) for a, b in self.between)
        if self.dates:
            yield "dates", any(a <= at.day <= b for a, b in self.dates)


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a chosen time must be (`only`: every clause holds) and must not be (`avoid`: any holds)."""

    only: Clauses | None = None
    avoid: Clauses | None = None

    def objection(self, at: Reading) -> str:
        """Which clause is against that time, as `only hours` or `avoid dow`; empty if none is."""
        for key, holds in self.only.verdicts(at) if self.only else ():
            if not holds:
                return f"only {key}"
        for key, holds in self.avoid.verdicts(at) if self.avoid else ():
            if holds:
                return f"avoid {key}"
        return ""


def _within(minute: int, start: int, end: int) -> bool:
    return start <= minute <= end if start <= end else minute >= start or minute <= end


FREE = Constraints()
