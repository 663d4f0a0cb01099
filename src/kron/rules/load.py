"""Load: how many runs are due in each minute of the coming days, and which schedule texts they come from."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from kron.rules.pause import passes_during_pause
from kron.rules.state import ScheduleState
from kron.rules.upcoming import inactive_reason, search_upcoming
from kron.timing.due import Due, due_of, window_extent
from kron.timing.period import nominals
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.terms import PLAIN

HORIZON_MINUTES = 8 * 24 * 60
MAX_PERIODS = 20_000  # periods of one schedule that are counted; one run a minute for 8 days has 11,520
MAX_LIMITED_RUNS = 1_000  # runs of a schedule with `max_runs` that are counted
MAX_KINDS = 200  # schedule texts that are told apart in a table: the first ones
SHOWN_KINDS = 10  # schedule texts that are kept for each hour: those with the most runs


class LoadKind(NamedTuple):
    """Runs of all schedules with the same canonical text."""

    text: str
    busiest: int  # runs in the busiest minute
    runs: int


class LoadHour(NamedTuple):
    """Runs that are due in each minute of an hour."""

    scope: str
    hour: int  # hours since 1970
    counts: tuple[int, ...]  # of 60 minutes
    kinds: tuple[LoadKind, ...]  # most runs first
    written: int  # milliseconds


class LoadInterval(NamedTuple):
    """Runs that are due in an interval, and its busiest minute. An interval without runs has no busiest minute."""

    start: int  # seconds
    runs: int
    busiest: int  # runs in the busiest minute
    busiest_at: int | None  # seconds


class Load(NamedTuple):
    """Load of a range of time."""

    intervals: list[LoadInterval]
    kinds: list[LoadKind]  # most runs first; of whole hours
    written: int | None  # milliseconds: when the oldest part was computed; None if nothing was


class LoadTable:
    """Counters of the coming minutes, for all schedules of a scope."""

    def __init__(self, first: int) -> None:
        """Start with empty counters; `first` is the first minute since 1970."""
        self.first, self.last = first, first + HORIZON_MINUTES
        self.counts = _empty()
        self.kinds: dict[str, array[int]] = {}

    def add(self, minute: int, runs: int, kind: str) -> None:
        """Count runs of schedules with the canonical text `kind`, in a minute within the horizon."""
        self.counts[minute - self.first] += runs
        kind_counts = self.kinds.get(kind)
        if kind_counts is None and len(self.kinds) < MAX_KINDS:
            kind_counts = self.kinds[kind] = _empty()
        if kind_counts is not None:
            kind_counts[minute - self.first] += runs

    def hours(self, scope: str, written: int) -> Iterator[LoadHour]:
        """Yield the hours that have runs."""
        for hour in range(self.first // 60, -(-self.last // 60)):
            start, end = (min(max(edge * 60 - self.first, 0), HORIZON_MINUTES) for edge in (hour, hour + 1))
            counts = self.counts[start:end]
            if any(counts):
                padding = (0,) * (max(self.first - hour * 60, 0))
                whole = (*padding, *counts, *(0,) * (60 - len(padding) - len(counts)))
                yield LoadHour(scope, hour, whole, self._kinds(start, end), written)

    def _kinds(self, start: int, end: int) -> tuple[LoadKind, ...]:
        parts = ((text, counts[start:end]) for text, counts in self.kinds.items())
        return _most([LoadKind(text, max(part), sum(part)) for text, part in parts if any(part)])


def _empty() -> array[int]:
    return array("I", bytes(4 * HORIZON_MINUTES))


def _most(kinds: list[LoadKind]) -> tuple[LoadKind, ...]:
    return tuple(sorted(kinds, key=lambda kind: (-kind.runs, kind.text))[:SHOWN_KINDS])


def is_shared(state: ScheduleState) -> bool:
    """Return whether all schedules of the same text have the same runs as this one: nothing is drawn or limited."""
    job, schedule = state.job, state.job.schedule
    has_draw = schedule.window.duration or schedule.policy.jitter
    is_limited = job.start is not None or job.end is not None or state.runs_left is not None or state.paused
    return not has_draw and not is_limited


def upcoming_minutes(state: ScheduleState, now: int, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the minutes from `first` up to `last` (minutes since 1970) in which a schedule has runs, and how many.

    Periods that do not run are yielded too, with 0 runs, so that the caller can interrupt a long computation.
    """
    job, schedule = state.job, state.job.schedule
    if inactive_reason(state):
        return
    if state.runs_left is not None:
        limit = min(state.runs_left, MAX_LIMITED_RUNS)
        dues = search_upcoming(state, now, limit, until=last * 60_000 - 1).dues
        yield from ((due.at // 60_000, int(due.at // 60_000 >= first)) for due in dues)
        return
    (before, after), runs, cron = window_extent(job), 1, _cron_with_seconds(schedule)
    if cron is not None:
        runs, schedule = cron.seconds.bit_count(), replace(schedule, cron=replace(cron, seconds=1))
    start, end = max(state.cursor, first * 60 - after - 1), last * 60 - 1 + before
    start = start if job.start is None else max(start, job.start)
    for nominal in islice(nominals(schedule, start, end if job.end is None else min(end, job.end)), MAX_PERIODS):
        due = Due(nominal, nominal * 1000) if runs > 1 else due_of(job, nominal)
        minute, is_paused = due.at // 60_000, state.paused and passes_during_pause(state, due, state.paused_until)
        is_counted = due.schedulable and not is_paused and first <= minute < last and nominal not in state.handled_ahead
        yield minute, runs if is_counted else 0


def _cron_with_seconds(schedule: Schedule) -> Cron | None:
    """Return the cron fields of a schedule that runs several times a minute, and in each of its minutes alike."""
    cron, has_draw = schedule.cron, schedule.window.duration or schedule.policy.jitter
    if type(cron) is not Cron or has_draw or schedule.terms != PLAIN or schedule.constraints != UNCONSTRAINED:
        return None
    return cron if cron.seconds.bit_count() > 1 else None


def load_of(hours: Sequence[LoadHour], first: int, last: int, step: int) -> Load:
    """Return the load by intervals.

    Args:
        hours: Hours of one scope.
        first: Begin in seconds, a multiple of 60.
        last: End in seconds, not included.
        step: Length of an interval in seconds, a multiple of 60.
    """
    counts = {hour.hour * 60 + n: count for hour in hours for n, count in enumerate(hour.counts) if count}
    intervals = list[LoadInterval]()
    for start in range(first, last, step):
        runs, peak, busiest_at = 0, 0, None
        for minute in range(start // 60, min(start + step, last) // 60):
            count = counts.get(minute, 0)
            runs += count
            if count > peak:
                peak, busiest_at = count, minute * 60
        intervals.append(LoadInterval(start, runs, peak, busiest_at))
    kinds = dict[str, LoadKind]()
    for kind in (kind for hour in hours for kind in hour.kinds):
        known = kinds.get(kind.text, LoadKind(kind.text, 0, 0))
        kinds[kind.text] = LoadKind(kind.text, max(known.busiest, kind.busiest), known.runs + kind.runs)
    return Load(intervals, list(_most(list(kinds.values()))), min((hour.written for hour in hours), default=None))
