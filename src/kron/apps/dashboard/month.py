"""Month: its days in weeks from Monday to Sunday, and how its periods ended, day by day, in the zone of the viewer."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from kron.apps.dashboard.outcome_look import NOT_STARTED, Look, look_of
from kron.engine.overview import TROUBLE, OutcomeCount
from kron.errors import InvalidInput, clip
from kron.language.english_words import MONTHS
from kron.rules.outcome import Reason
from kron.rules.run_state import State
from kron.timing.calendar import Date, date_of, day_of, weekday_of

FIRST_YEAR, LAST_YEAR = 1970, 2999
QUARTER_SECONDS = 900  # outcomes that are older than two days are kept by quarters of an hour
_TEXT = re.compile(r"([0-9]{4})-([0-9]{2})", re.ASCII)


class Month(NamedTuple):
    """Month of a year."""

    year: int
    month: int

    @property
    def text(self) -> str:
        """Text such as 2026-10."""
        return f"{self.year:04d}-{self.month:02d}"

    @property
    def title(self) -> str:
        """Text such as October 2026."""
        return f"{MONTHS[self.month - 1]} {self.year}"

    def moved(self, months: int) -> Month:
        """Return the month that is so many months later."""
        year, month = divmod(self.year * 12 + self.month - 1 + months, 12)
        return Month(year, month + 1)

    @property
    def first_day(self) -> int:
        """Day number of the first day."""
        day = day_of(Date(self.year, self.month, 1))
        assert day is not None  # noqa: S101  every month has a first day
        return day

    def days(self) -> range:
        """Return the day numbers of all weeks of the month, from a Monday to a Sunday."""
        first, after = self.first_day, self.moved(1).first_day
        return range(first - (weekday_of(first) - 1) % 7, after + (1 - weekday_of(after)) % 7)


class TroubleCount(NamedTuple):
    """How many periods of a day ended in one way."""

    look: Look
    state: State
    periods: int


class DayOutcomes(NamedTuple):
    """How the periods of a day ended."""

    fine: int = 0
    troubled: int = 0
    trouble: tuple[TroubleCount, ...] = ()  # most frequent first

    @property
    def total(self) -> int:
        """All periods that have ended."""
        return self.fine + self.troubled


def read_month(text: str, today: Date) -> Month:
    """Return the month that a text such as 2026-10 names; that of today if it is empty.

    Raises:
        InvalidInput: The text names no month.
    """
    if not text:
        return Month(today.year, today.month)
    match = _TEXT.fullmatch(text)
    if match and FIRST_YEAR <= int(match[1]) <= LAST_YEAR and 1 <= int(match[2]) <= 12:
        return Month(int(match[1]), int(match[2]))
    message = f"{clip(text)!r} is not a month from {FIRST_YEAR} to {LAST_YEAR}"
    raise InvalidInput("BAD_FIELD", message, hint="use a month such as 2026-10", details={"field": "month"})


def month_of(day: int) -> Month:
    """Return the month of a day number."""
    date = date_of(day)
    return Month(date.year, date.month)


def outcome_step(bounds: Sequence[int]) -> int:
    """Return the longest interval in seconds that divides every day, from the first bound on.

    It is a day in most months, an hour where the clocks change, and a quarter of an hour if nothing else divides them.
    """
    step = gcd(*(end - start for start, end in pairwise(bounds)))
    is_whole = bounds[0] % QUARTER_SECONDS == 0 and step % QUARTER_SECONDS == 0
    return step if is_whole else QUARTER_SECONDS


def outcomes_by_day(outcomes: Iterable[OutcomeCount], bounds: Sequence[int]) -> list[DayOutcomes]:
    """Return how the periods of each day ended.

    Args:
        outcomes: Counts of intervals. Each belongs to the day in which it begins.
        bounds: Starts of consecutive days in seconds, and the end of the last one.
    """
    counters = [Counter[tuple[Look, State]]() for _ in bounds[1:]]
    fine = [0] * len(counters)
    for each in outcomes:
        number = bisect_right(bounds, each.start) - 1
        if not 0 <= number < len(counters):
            continue
        if each.state in TROUBLE:
            counters[number][_look(each), each.state] += each.periods
        else:
            fine[number] += each.periods
    return [_day(count, counter) for count, counter in zip(fine, counters, strict=True)]


def _look(count: OutcomeCount) -> Look:
    is_dead_letter = count.state is State.FAILED and count.reason is Reason.LAUNCH_FAILED
    return NOT_STARTED if is_dead_letter else look_of(count.state, None)


def _day(fine: int, counter: Counter[tuple[Look, State]]) -> DayOutcomes:
    trouble = tuple(TroubleCount(look, state, periods) for (look, state), periods in counter.most_common())
    return DayOutcomes(fine, sum(counter.values()), trouble)
