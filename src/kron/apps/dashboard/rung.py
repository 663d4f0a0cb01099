"""Rungs of the ladder: one period a line, with its window, its chosen second and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from kron.apps.dashboard.charts.ladder import LINE_HEIGHT, common_axis
from kron.apps.dashboard.charts.window import Placement, WindowAxis, window_chart
from kron.apps.dashboard.outcome_look import (
    COMING,
    LATE,
    PAUSED,
    SKIPPED,
    Look,
    look_of_outcome,
    look_of_run,
)
from kron.apps.dashboard.run_cause import cause_of
from kron.apps.dashboard.time_text import Form, span_text
from kron.engine.period_report import Absence
from kron.engine.periods import PeriodLine
from kron.rules.action import ActionKind
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.clock_change import fold_pass
from kron.timing.recurrence import stands_for

_OF_ABSENCE = {
    Absence.COMING: COMING,
    Absence.LATE: LATE._replace(reason="no worker has handled it yet"),
    Absence.PAUSED: PAUSED._replace(reason="the schedule is paused"),
    Absence.SUSPENDED: PAUSED._replace(word="Suspended", reason="by its policy"),
    Absence.INVALID: SKIPPED._replace(word="No run", reason="the schedule is not valid then"),
    Absence.UNDEFINED: SKIPPED._replace(word="No run", reason="the schedule was defined later"),
    Absence.DELETED: SKIPPED._replace(word="No run", reason="the schedule was deleted"),
    Absence.OVER: SKIPPED._replace(word="No run", reason="the schedule has ended"),
    Absence.EARLIER: SKIPPED._replace(word="No run", reason="the schedule was changed"),
}
_LONG_INTERVAL = 20 * 3_600  # seconds; periods that are this far apart are told by their day alone


class Rung(NamedTuple):
    """Line of the ladder.

    Attributes:
        line: The period, or a run that was requested.
        look: What became of it.
        detail: Reason or duration, shown under the word.
        lateness: Time from the due time to the start, in words; empty if it did not start.
        chart: Window, chosen second and start; None for a run outside of the calendar.
        clock_change: Which one of two equal times it is, or the time for which it stands; empty on ordinary days.
        is_coming: Whether it has no record and is due later.
    """

    line: PeriodLine
    look: Look
    detail: str
    lateness: str
    chart: Markup | None
    clock_change: str
    is_coming: bool


def rungs_of(lines: Sequence[PeriodLine], now: int) -> tuple[list[Rung], WindowAxis | None]:
    """Return the lines of the ladder, and the axis that their charts share; None if no line has a chart."""
    placements = [placement_of(line) for line in lines]
    drawn = [placement for placement in placements if placement]
    axis = common_axis(drawn) if drawn else None
    charts = [window_chart(each, axis, LINE_HEIGHT) if each and axis else None for each in placements]
    return [_rung(line, chart, now) for line, chart in zip(lines, charts, strict=True)], axis


def placement_of(line: PeriodLine) -> Placement | None:
    """Return the period as charts show it; None for a run outside of the calendar."""
    if line.window is None:
        return None
    run = line.run
    look = look_of_line(line)
    started = None if run is None or line.requested else run.started or (run.sent if run.dead else None)
    return Placement(line.revision.job, line.period.nominal, line.chosen, started or None, look.tone == "fail")


def look_of_line(line: PeriodLine) -> Look:
    """Return the look of a period, with its reason."""
    if line.run is not None:
        look = look_of_run(line.run)
    elif line.outcome is not None:
        look = look_of_outcome(line.outcome, line.reason)
    else:
        look = _OF_ABSENCE[line.absence or Absence.COMING]
        if line.absence is Absence.COMING and not line.report.due.schedulable:
            look = look_of_outcome(Outcome.UNSCHEDULABLE, Reason.CONSTRAINTS)
    action = line.report.action
    if action is None or action.kind is not ActionKind.PAUSED or line.outcome not in (Outcome.SKIPPED, Outcome.MISSED):
        return look
    pause = f"paused by {action.actor}" if action.actor else "paused"
    return look._replace(reason=pause if line.reason is Reason.PAUSED else f"{look.reason}, while {pause}")


def period_form(lines: Sequence[PeriodLine]) -> Form:
    """Return how the periods are named: by their days, or also by their times if they are closer than that."""
    nominals = [line.period.nominal for line in lines if not line.requested]
    intervals = sorted(later - earlier for earlier, later in pairwise(nominals))
    is_daily = not intervals or intervals[len(intervals) // 2] >= _LONG_INTERVAL  # one interval can be a clock change
    return Form.DAY if is_daily else Form.NEAR


def run_length(run: Run) -> int | None:
    """Return how long a run took in milliseconds; None if it has not ended or its target did not accept it."""
    return None if run.started is None or run.finished is None else max(0, run.finished - run.started)


def _rung(line: PeriodLine, chart: Markup | None, now: int) -> Rung:
    run, look = line.run, look_of_line(line)
    detail = look.reason
    if run is not None and run.state is State.SUCCESS:
        length, attempts = run_length(run), f"{run.tries} attempts" if run.tries > 1 else ""
        detail = " · ".join(part for part in ("" if length is None else span_text(length), attempts) if part)
    elif run is not None and not run.open and (run.dead or line.outcome not in (Outcome.SKIPPED, Outcome.MISSED)):
        detail = cause_of(run, line.report.attempts, line.revision.job.target).text
    elif line.report.gap is not None and line.report.gap.count > 1:
        detail = f"{look.reason}, one of {line.report.gap.count:,} periods"
    started = None if run is None else run.started
    lateness = "" if started is None else f"+{span_text(max(0, started - line.due))}"
    is_coming = line.absence is not None and line.due > now
    return Rung(line, look, detail, lateness, chart, _clock_change(line), is_coming)


def _clock_change(line: PeriodLine) -> str:
    """Return how a clock change affects a period: `first 02:30`, or `for 02:30, which the clocks skip`."""
    schedule, nominal = line.revision.job.schedule, line.period.nominal
    if line.window is None:
        return ""
    missing_time = stands_for(schedule, nominal)
    if missing_time is not None:
        return f"for {missing_time[11:]}, which the clocks skip"
    fold = fold_pass(schedule.zone, nominal)
    wall = schedule.zone.wall(nominal)
    return f"{'first' if fold == 1 else 'second'} {wall.hour:02d}:{wall.minute:02d}" if fold else ""
