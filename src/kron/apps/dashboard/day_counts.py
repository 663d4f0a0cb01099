"""Day counts: how the periods of the last 24 hours ended, as totals and as bars of 10 minutes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kron.apps.dashboard.charts.strip import StripBar
from kron.apps.dashboard.outcome_look import SHORT_REASONS
from kron.engine.overview import OutcomeCount, TimeRange
from kron.rules.load import LoadInterval
from kron.rules.outcome import Reason
from kron.rules.run_state import State

BAR_SECONDS = 600
DAY_BARS = 144
HALF_DAY_BARS = 72
MINUTE = 60  # seconds
FAILED = frozenset({State.FAILED, State.LOST, State.UNKNOWN})
SKIPPED = frozenset({State.SKIPPED, State.CANCELLED, State.UNSCHEDULABLE})


class DayCounts(NamedTuple):
    """Counts of the last 24 hours."""

    first: int  # seconds: when the first bar begins
    bars: tuple[StripBar, ...]
    failed: int
    missed: int
    skipped: int
    not_launched: int
    missed_text: str  # the reasons, most frequent first
    skipped_text: str


def first_bar(now: int) -> int:
    """Return the second at which the first bar begins; `now` is in milliseconds. The last bar has just begun."""
    return (now // 1000 // BAR_SECONDS + 1 - DAY_BARS) * BAR_SECONDS


def day_counts(outcomes: Sequence[OutcomeCount], first: int) -> DayCounts:
    """Return the counts of outcomes in intervals of 10 minutes, from `first` (seconds) on."""
    parts = [Counter[str]() for _ in range(DAY_BARS)]
    for each in outcomes:
        number = (each.start - first) // BAR_SECONDS
        if 0 <= number < DAY_BARS:
            parts[number][_name(each.state)] += each.periods
    bars = [StripBar(**part) for part in parts]
    failed = [each for each in outcomes if each.state in FAILED]
    return DayCounts(
        first,
        tuple(bars),
        sum(each.periods for each in failed),
        sum(bar.missed for bar in bars),
        sum(bar.skipped for bar in bars),
        sum(each.periods for each in failed if each.reason is Reason.LAUNCH_FAILED),
        _reasons_text([each for each in outcomes if each.state is State.MISSED]),
        _reasons_text([each for each in outcomes if each.state in SKIPPED]),
    )


def strip_ranges(now: int) -> tuple[TimeRange, TimeRange]:
    """Return the last 24 hours by bars, and the next 12 hours by the minute; `now` is in milliseconds."""
    first, minute = first_bar(now), now // 60_000 * MINUTE
    past = TimeRange(first, first + DAY_BARS * BAR_SECONDS, BAR_SECONDS)
    return past, TimeRange(minute, past.last + HALF_DAY_BARS * BAR_SECONDS, MINUTE)


def coming_runs(minutes: Sequence[LoadInterval], first: int, count: int, step: int) -> list[int]:
    """Return how many runs are due, by intervals.

    Args:
        minutes: Load by the minute.
        first: Begin of the first interval in seconds.
        count: Number of intervals.
        step: Length of an interval in seconds.
    """
    runs = [0] * count
    for minute in minutes:
        number = (minute.start - first) // step
        if 0 <= number < count:
            runs[number] += minute.runs
    return runs


def strip_first(counts: DayCounts) -> int:
    """Return the second at which the strip begins: its first half ends with the bar that has just begun."""
    return counts.first + (DAY_BARS - HALF_DAY_BARS) * BAR_SECONDS


def strip_bars(counts: DayCounts, coming: Sequence[int]) -> tuple[StripBar, ...]:
    """Return the bars of the last and of the next 12 hours.

    Args:
        counts: Counts of the last 24 hours.
        coming: Runs that are due, by bars from the one that has just begun on.
    """
    bars = [*counts.bars[-HALF_DAY_BARS:], *[StripBar()] * (DAY_BARS - HALF_DAY_BARS)]
    for number, runs in enumerate(coming[: HALF_DAY_BARS + 1], HALF_DAY_BARS - 1):
        bars[number] = bars[number]._replace(coming=runs)
    return tuple(bars)


def _name(state: State) -> str:
    """Return the part of a bar in which a state is counted."""
    if state is State.SUCCESS:
        return "executed"
    return "failed" if state in FAILED else "missed" if state is State.MISSED else "skipped"


def _reasons_text(outcomes: Sequence[OutcomeCount]) -> str:
    counts = Counter[str]()
    for each in outcomes:
        counts[SHORT_REASONS[each.reason] if each.reason else each.state.value] += each.periods
    return " · ".join(f"{reason} {count:,d}" for reason, count in counts.most_common(2))
