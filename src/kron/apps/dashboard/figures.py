"""Figures of a schedule: how late its runs started and how long they took, with percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from markupsafe import Markup

from kron.apps.dashboard.axis_text import tick_text
from kron.apps.dashboard.charts.bars import duration_chart, duration_top
from kron.apps.dashboard.charts.dots import lateness_chart, lateness_ticks
from kron.apps.dashboard.rung import run_length
from kron.apps.dashboard.time_text import span_text
from kron.apps.plural import plural
from kron.rules.outcome import Outcome
from kron.rules.run import Run
from kron.rules.run_state import State

MAX_RUNS = 60  # newest scheduled runs that the figures are about


class Figure(NamedTuple):
    """Chart with its words: a summary, the labels of the axis from top to bottom, and the times of its ends."""

    chart: Markup
    summary: str
    labels: list[str]
    first: int  # milliseconds
    last: int


def lateness_figure(runs: Sequence[Run], deadline: int | None) -> Figure | None:
    """Return how late runs started; None if none started.

    Args:
        runs: Scheduled runs, oldest first.
        deadline: Maximum lateness in milliseconds; None: no limit.
    """
    shown = [run for run in runs if run.started is not None or run.outcome is Outcome.MISSED][-MAX_RUNS:]
    lateness = [None if run.started is None else max(0, run.started - run.due) for run in shown]
    known = sorted(value for value in lateness if value is not None)
    if not known:
        return None
    limit = "" if deadline is None else f" · deadline {tick_text(deadline)}"
    summary = f"{_percentiles(known)} · {plural(len(known), 'start')}{limit}"
    labels = [tick_text(tick) for tick in reversed(lateness_ticks(lateness, deadline))]
    chart = lateness_chart(lateness, deadline, f"Lateness of the last {len(shown)} runs: {summary}")
    return Figure(chart, summary, labels, shown[0].due, shown[-1].due)


def duration_figure(runs: Sequence[Run]) -> Figure | None:
    """Return how long runs took; None if none has ended. `runs` are oldest first."""
    ended = [run for run in runs if run.state in (State.SUCCESS, State.FAILED) and run_length(run) is not None]
    shown = ended[-MAX_RUNS:]
    durations = [run_length(run) or 0 for run in shown]
    if not durations:
        return None
    ordered = sorted(durations)
    summary = f"{_percentiles(ordered)} · longest {span_text(ordered[-1])} · {plural(len(ordered), 'run')}"
    top = duration_top(durations)
    labels = [tick_text(top), tick_text(top // 2), "0"]
    chart = duration_chart(durations, percentile(ordered, 50), f"Duration of the last {len(shown)} runs: {summary}")
    return Figure(chart, summary, labels, shown[0].due, shown[-1].due)


def percentile(ordered: Sequence[int], percent: int) -> int:
    """Return a percentile of values in order, by nearest rank."""
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


def _percentiles(ordered: Sequence[int]) -> str:
    return f"p50 {span_text(percentile(ordered, 50))} · p99 {span_text(percentile(ordered, 99))}"
