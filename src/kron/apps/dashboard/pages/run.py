"""Page of one run: what exactly happened, from the decision to the outcome, with every recorded attempt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from kron.apps.dashboard.axis_text import axis_texts, tick_text
from kron.apps.dashboard.charts.waterfall import Bar, attempt_chart, axis_end
from kron.apps.dashboard.charts.window import Placement, window_axis, window_chart
from kron.apps.dashboard.definition import target_text
from kron.apps.dashboard.run_request import request_and_redrive
from kron.apps.dashboard.rung import Rung, period_form, placement_of, rungs_of
from kron.apps.dashboard.time_text import span_text
from kron.apps.dashboard.view import View
from kron.apps.dashboard.why_panel import Why, why_of
from kron.engine.attempt_text import is_command
from kron.engine.periods import PeriodLine, periods_around
from kron.engine.schedule_record import ScheduleRecord, schedule_record
from kron.errors import NotFound
from kron.rules.attempt import Attempt, AttemptResult
from kron.rules.run import Run
from kron.rules.run_state import REDRIVABLE
from kron.timing.period import Period
from kron.timing.zone import zone

PICTURE_HEIGHT = 54
_KEY = re.compile(r"[0-9a-f]{64}")
_FINE = (AttemptResult.OK, AttemptResult.SUCCESS)


class AttemptLine(NamedTuple):
    """Attempt as a line of the waterfall: when it was sent after the due time, how long it took, and its answer."""

    attempt: Attempt
    chart: Markup
    sent: str
    took: str
    tone: str
    wait: str  # time until the next attempt; empty for the last one


class Waterfall(NamedTuple):
    """Attempts of a run on one axis."""

    lines: list[AttemptLine]
    axis: list[str]


async def run_page(view: View) -> Response:
    """Return the page.

    Raises:
        NotFound: The run does not exist, or belongs to another tenant.
    """
    run = await _run(view)
    record = await schedule_record(view.store, run.identity, shared=view.context.is_shared)
    around = await periods_around(view.store, run.identity, run.nominal * 1000, 2, 1, record=record)
    line = await _line(view, run, around, record)
    why, placement = why_of(line, is_tenant=bool(view.tenant)), placement_of(line)
    attempts = why.line.report.attempts
    request, redrive = await request_and_redrive(view, run, [each.run for each in around if each.run])
    return view.render(
        "run.html",
        section="runs",
        watched=view.name(run.identity),
        run=run,
        line=line,
        why=why,
        name=view.name(run.identity),
        target=target_text(line.revision.job),
        is_command=is_command(line.revision.job.target),
        form=period_form(around),
        picture=_picture(placement, why) if placement else None,
        axis=axis_texts(window_axis(placement.job), [run.nominal], zone(view.zone)) if placement else [],
        waterfall=waterfall(run, attempts) if attempts else None,
        neighbors=neighbors(around, run, view.now),
        is_redrivable=run.state in REDRIVABLE and redrive is None,
        request=request,
        redrive=redrive,
    )


async def _run(view: View) -> Run:
    """Return the run that the address names."""
    key = view.request.path_params["key"]
    run = (await view.store.runs_by_key([key]))[0] if _KEY.fullmatch(key) else None
    if run is None or not run.identity.startswith(view.prefix):
        raise NotFound("NOT_FOUND", "there is no such run", hint="use a key that the list of runs shows")
    return run


async def _line(view: View, run: Run, around: Sequence[PeriodLine], record: ScheduleRecord) -> PeriodLine:
    """Return the line of the run. It is among its neighbors, unless very many runs were requested between them."""
    line = next((line for line in around if line.run is not None and line.run.key == run.key), None)
    if line is not None:
        return line
    (attempts,) = await view.store.attempts([run.key])
    return PeriodLine(record.report(Period(run.nominal), run.nominal * 1000, run, None, attempts), None)


def _picture(placement: Placement, why: Why) -> Markup | None:
    return window_chart(placement, window_axis(placement.job), PICTURE_HEIGHT) if why.drawing else None


def waterfall(run: Run, attempts: Sequence[Attempt]) -> Waterfall:
    """Return the attempts of a run on one axis, which begins at the due time or at the first attempt.

    Args:
        run: The run.
        attempts: Its recorded attempts, oldest first, at least one.
    """
    begin = min(run.due, attempts[0].at)
    starts = [attempt.at - begin for attempt in attempts]
    bars = [
        Bar(start, start + attempt.duration, following, attempt.result in _FINE)
        for start, following, attempt in zip(starts, [*starts[1:], None], attempts, strict=True)
    ]
    end = axis_end(bars)
    lines = [
        AttemptLine(
            attempt,
            attempt_chart(bar, end),
            f"+{span_text(max(0, attempt.at - run.due))}",
            span_text(attempt.duration),
            "ok" if bar.is_ok else "fail",
            "" if bar.next_start is None else span_text(max(0, bar.next_start - bar.end)),
        )
        for attempt, bar in zip(attempts, bars, strict=True)
    ]
    return Waterfall(lines, [tick_text(0), span_text(end // 2), span_text(end)])


def neighbors(around: Sequence[PeriodLine], run: Run, now: int) -> list[Rung]:
    """Return the periods before and after that of a run, without those of the run itself."""
    rungs, _ = rungs_of(around, now)
    return [rung for rung in rungs if rung.line.period.nominal != run.nominal]
