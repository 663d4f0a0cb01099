"""Constraints: which seconds of a window can be chosen, by local time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Reading(NamedTuple):
    """Part of a local time that constraints look at. `day` is the number of days since 1970-01-01."""

    day: int
    month: int
    day_of_month: int
    weekday: int
    minute: int  # of the day


@dataclass(frozen=True, slots=True)
class Clauses:
    """Clauses of one @only or @avoid. In a bit set, bit n stands for the value n. An empty clause was not written.

    The values of one clause are alternatives. Both ends of a range are included. `between` can cross midnight.
    """

    hours: int = 0
    dow: int = 0
    dom: int = 0
    months: int = 0
    between: tuple[tuple[int, int], ...] = ()  # minutes of the day
    dates: tuple[tuple[int, int], ...] = ()  # days from 1970-01-01

    def outcomes(self, reading: Reading) -> Iterator[tuple[str, bool]]:
        """Yield each written clause by key, and whether the time satisfies it."""
        if self.hours:
            yield "hours", bool(self.hours >> reading.minute // 60 & 1)
        if self.dow:
            yield "dow", bool(self.dow >> reading.weekday & 1)
        if self.dom:
            yield "dom", bool(self.dom >> reading.day_of_month & 1)
        if self.months:
            yield "months", bool(self.months >> reading.month & 1)
        if self.between:
            yield "between", any(_is_within(reading.minute, first, last) for first, last in self.between)
        if self.dates:
            yield "dates", any(first <= reading.day <= last for first, last in self.dates)


@dataclass(frozen=True, slots=True)
class Constraints:
    """Rules for the chosen time: it must satisfy every clause of `only` and no clause of `avoid`."""

    only: Clauses | None = None
    avoid: Clauses | None = None

    def violated_clause(self, reading: Reading) -> str:
        """Return the first clause that rejects the time, as `only hours` or `avoid dow`; empty if none does."""
        for key, is_satisfied in self.only.outcomes(reading) if self.only else ():
            if not is_satisfied:
                return f"only {key}"
        for key, is_satisfied in self.avoid.outcomes(reading) if self.avoid else ():
            if is_satisfied:
                return f"avoid {key}"
        return ""


def _is_within(minute: int, start: int, end: int) -> bool:
    return start <= minute <= end if start <= end else minute >= start or minute <= end


UNCONSTRAINED = Constraints()
