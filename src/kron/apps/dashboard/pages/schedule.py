"""Page of one schedule: what it says, what became of its periods and why, and when it runs next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from kron.apps.compute import compute, upcoming_within_time
from kron.apps.dashboard.axis_text import axis_texts
from kron.apps.dashboard.changes import changes_of
from kron.apps.dashboard.charts.window import Placement, window_axis, window_chart
from kron.apps.dashboard.definition import definition_of
from kron.apps.dashboard.figures import MAX_RUNS, Figure, duration_figure, lateness_figure
from kron.apps.dashboard.moment import read_moment, write_moment
from kron.apps.dashboard.near_names import near_names
from kron.apps.dashboard.outcome_look import PAUSED, SKIPPED, SUCCEEDED, Look
from kron.apps.dashboard.rung import Rung, period_form, rungs_of
from kron.apps.dashboard.sentence import sentence
from kron.apps.dashboard.view import View
from kron.apps.dashboard.why_panel import why_of
from kron.engine.overview import RecentPeriods
from kron.engine.periods import PeriodLine, periods_around
from kron.engine.schedule_record import ScheduleRecord, schedule_record
from kron.errors import InvalidInput, NotFound, clip
from kron.language.english import describe, describe_shape
from kron.language.lint import clock_change_findings
from kron.rules.outcome import Outcome
from kron.rules.run_state import REDRIVABLE
from kron.rules.state import ScheduleState
from kron.rules.upcoming import no_upcoming_reason
from kron.timing.due import window_extent
from kron.timing.period import count_nominals
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import MILLISECOND
from kron.timing.zone import instant_of, zone

PAST, COMING = 9, 6  # periods on the ladder, before and after now
PICTURE_HEIGHT = 64


class Position(NamedTuple):
    """Part of the ladder that is shown, with times in milliseconds."""

    at: int
    before: int
    after: int


class NextRun(NamedTuple):
    """Next run, with times in milliseconds, and the picture of its window; None without a window."""

    at: int
    nominal: int
    start: int
    end: int
    shape: str
    picture: Markup | None
    axis: list[str]


async def schedule_page(view: View) -> Response:
    """Return the page.

    Raises:
        NotFound: The schedule does not exist.
        InvalidInput: A period of the address is not an instant.
    """
    identity, now = view.named_identity, view.now // 1000
    record = await _record(view, identity)
    ladder = await _ladder(view, record)
    recent = await view.panel(view.overview.recent([identity], MAX_RUNS))
    job = record.state.job
    lateness, duration = _figures(recent, identity, record.state)
    next_run, absence = await _next_run(view, record.state)
    return view.render(
        "schedule.html",
        section="schedules",
        watched=view.name(identity),
        record=record,
        name=view.name(identity),
        words=describe(job.schedule),
        standing=standing_of(record.state),
        clock_notes=await view.panel(compute(clock_notes, job.schedule, now)) or [],
        next_run=next_run,
        absence=absence,
        definition=definition_of(job, now),
        changes=changes_of(record.revisions, record.actions),
        has_figures=recent is not None,
        lateness=lateness,
        duration=duration,
        **ladder,
    )


async def _record(view: View, identity: str) -> ScheduleRecord:
    """Return the record of the schedule.

    Raises:
        NotFound: The schedule does not exist. The details have the names of schedules that look like it.
    """
    try:
        return await schedule_record(view.store, identity, shared=view.context.is_shared)
    except NotFound:
        name = view.name(identity)
        hint = "it was never defined here: a deleted schedule still has its page"
        details = {"near": await view.panel(near_names(view, name)) or []}
        raise NotFound("NOT_FOUND", f"there is no schedule {clip(name)!r}", hint=hint, details=details) from None


async def _ladder(view: View, record: ScheduleRecord) -> dict[str, Any]:
    """Return the part of the ladder that the address names, and the report on the selected period."""
    period, before, after = (_instant(view, name) for name in ("period", "before", "after"))
    position = _position(record, view.now, period, before, after)
    lines = await periods_around(view.store, record.state.identity, *position, record=record)
    rungs, axis = rungs_of(lines, view.now)
    nominals = [line.period.nominal for line in lines if line.window]
    selected = _selected(lines, period, view.now)
    return {
        "rungs": rungs,
        "first_coming": _first_coming(rungs),
        "axis": axis_texts(axis, nominals, zone(view.zone)) if axis else [],
        "form": period_form(lines),
        "selected": selected,
        "why": why_of(selected, is_tenant=bool(view.tenant)) if selected else None,
        "following": _following(lines, selected),
        "moment": _moment_to_run(view, selected) if selected else "",
        "is_now": before is None and after is None and position.at == view.now,
        "kept": {name: value for name, value in view.request.query_params.items() if name in ("before", "after")},
    }


def _instant(view: View, name: str) -> int | None:
    """Return a second that the address names; None if it names none."""
    text = view.request.query_params.get(name, "")
    if not text:
        return None
    try:
        return instant_of(text)
    except ValueError as error:
        hint = "use a period such as 2026-03-01T00:00:00Z"
        raise InvalidInput("BAD_FIELD", str(error), hint=hint, details={"field": name}) from None


def _position(record: ScheduleRecord, now: int, period: int | None, before: int | None, after: int | None) -> Position:
    """Return the part of the ladder that is shown. A period that is far from now is shown with its neighbors."""
    if before is not None:
        return Position(before * 1000 - 1, PAST + COMING, 0)
    if after is not None:
        return Position(after * 1000, 0, PAST + COMING)
    second, schedule = now // 1000, record.state.job.schedule
    if period is not None:
        is_past = period <= second
        first, last = (period - 1, second) if is_past else (second, period)
        if count_nominals(schedule, first, last) > (PAST if is_past else COMING):
            return Position(period * 1000, PAST, COMING)
    return Position(now, PAST, COMING)


def _selected(lines: Sequence[PeriodLine], period: int | None, now: int) -> PeriodLine | None:
    """Return the line that the address names, otherwise the last one that was due."""
    if period is not None:
        named = next((line for line in lines if line.period.nominal == period), None)
        if named is not None:
            return named
    due = [line for line in lines if line.due <= now]
    return due[-1] if due else next(iter(lines), None)


def _following(lines: Sequence[PeriodLine], selected: PeriodLine | None) -> PeriodLine | None:
    """Return the line after the selected one."""
    later = [line for line in lines if selected and line.period.nominal > selected.period.nominal]
    return later[0] if later else None


def _moment_to_run(view: View, line: PeriodLine) -> str:
    """Return the local time of a skipped or missed period for the form that runs past periods; empty for others.

    A dead letter is run again on the page of its run. The form names times to the minute, and of two equal times the
    first one: it cannot name every period.
    """
    if line.outcome not in (Outcome.SKIPPED, Outcome.MISSED) or (line.run and line.run.state in REDRIVABLE):
        return ""
    at = line.period.nominal * 1000
    moment = write_moment(at, view.zone)
    return moment if read_moment(moment, view.zone) == at else ""


def _first_coming(rungs: Sequence[Rung]) -> int:
    """Return the number of the first line after now; -1 if all lines are on one side of now."""
    number = next((number for number, rung in enumerate(rungs) if rung.is_coming), -1)
    return -1 if number == 0 else number


def standing_of(state: ScheduleState) -> Look:
    """Return whether the schedule is active."""
    if state.deleted:
        return SKIPPED._replace(word="Deleted")
    if state.paused:
        return PAUSED
    return PAUSED._replace(word="Suspended") if state.policy.suspend else SUCCEEDED._replace(word="Active")


def clock_notes(schedule: Schedule, now: int) -> list[str]:
    """Return what the next clock changes do to the runs of a schedule, as lint says it."""
    return [sentence(finding.message) for finding in clock_change_findings(schedule, now)]


async def _next_run(view: View, state: ScheduleState) -> tuple[NextRun | None, str]:
    """Return the next run, or why there is none."""
    search = await upcoming_within_time(state, view.now, 1)
    if not search.dues:
        reason = "" if search.timed_out else await view.panel(compute(no_upcoming_reason, state, view.now))
        return None, reason or "the search for the next run took too long"
    due, job = search.dues[0], state.job
    earliest, latest = window_extent(job)
    placement, axis = Placement(job, due.nominal, due.at), window_axis(job)
    has_window = earliest + latest > 0
    return NextRun(
        due.at,
        due.nominal,
        (due.nominal - earliest) * 1000,
        (due.nominal + latest) * 1000,
        describe_shape(job.schedule) or "every second is equally likely",
        window_chart(placement, axis, PICTURE_HEIGHT) if has_window else None,
        axis_texts(axis, [due.nominal], zone(view.zone)),
    ), ""


def _figures(
    recent: dict[str, RecentPeriods] | None, identity: str, state: ScheduleState
) -> tuple[Figure | None, Figure | None]:
    """Return lateness and duration of the newest runs; None if nothing is known of them."""
    if recent is None or identity not in recent:
        return None, None
    runs = [run for run in reversed(recent[identity].runs) if not run.trigger]
    deadline = state.policy.deadline
    return lateness_figure(runs, None if deadline is None else deadline // MILLISECOND), duration_figure(runs)
