"""Queries: upcoming runs, past runs, the outcome of a period, and the history of changes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Response

from kron.apps.record_fields import instant_text
from kron.apps.service.auth.caller import Caller, Reader
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import SEARCH_SECONDS, compute, json_response, upcoming_within_time
from kron.apps.service.context import AppContext, Used
from kron.apps.service.routes.schedules import Limit, Token
from kron.apps.service.schemas import responses
from kron.apps.service.schemas.overview_views import action_view
from kron.apps.service.schemas.requests import Id, RunKey
from kron.apps.service.schemas.views import (
    attempt_views,
    change_view,
    run_details,
    run_view,
    upcoming_run,
    visible_attempts,
)
from kron.engine.backfill import redrive_key
from kron.engine.why import why
from kron.errors import InvalidInput, NotFound
from kron.language.english import describe
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.upcoming import no_upcoming_reason
from kron.timing.zone import instant_of

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

MAX_UPCOMING_RUNS = 1_000
MAX_CHANGES = 1_000
Count = Annotated[int, Query(ge=1, le=MAX_UPCOMING_RUNS)]
At = Annotated[str | None, Query(max_length=40)]
_KEY = re.compile(r"[0-9a-f]{64}")


@router.get("/schedules/{schedule_id}/next", include_in_schema=False)  # the earlier name of the same route
@router.get("/schedules/{schedule_id}/upcoming")
async def upcoming_runs(
    schedule_id: Id, caller: Reader, n: Count = 5, until: At = None, parts: AppContext = Used
) -> responses.UpcomingRuns:
    """Return the upcoming runs of a schedule, optionally up to an instant."""
    state = await parts.registrar.get(caller.identity(schedule_id))
    return await upcoming_view(state, await parts.store.now(), n, until)


@router.get("/schedules/{schedule_id}/runs", response_model=responses.RunPage)
async def runs(
    schedule_id: Id, caller: Reader, limit: Limit = 20, page_token: Token = "", parts: AppContext = Used
) -> Response:
    """List the runs of a schedule, newest first, in pages."""
    identity = caller.identity(schedule_id)
    await check_token(page_token, identity, caller, parts)
    page_runs = await parts.registrar.runs(identity, before=page_token, limit=limit)
    token = page_runs[-1].key if len(page_runs) == limit else None
    run_ids = await parts.store.run_ids([run.key for run in page_runs])
    runs_with_ids = list(zip(page_runs, run_ids, strict=True))
    return await json_response(
        lambda: responses.RunPage(
            runs=[run_view(run, caller, run_id) for run, run_id in runs_with_ids], next_page_token=token
        )
    )


@router.get("/runs/{key}")
async def run(key: RunKey, caller: Reader, parts: AppContext = Used) -> responses.RunDetails:
    """Return a run by its idempotency key, with its attempts if something went wrong."""
    record = await run_of(key, caller, parts)
    (run_id,), (attempts,) = await parts.store.run_ids([key]), await parts.store.attempts([key])
    return run_details(record, caller, run_id, attempts)


@router.get("/dead-letters")
async def dead_letters(
    caller: Reader, prefix: Token = "", limit: Limit = 20, page_token: Token = "", parts: AppContext = Used
) -> responses.DeadLetterPage:
    """List the dead letters (runs that could not be launched), latest first, and the runs that redrove them."""
    if page_token:
        await page_run(page_token, caller, parts)
    dead_runs = await parts.registrar.dead(caller.prefix + prefix, before=page_token, limit=limit)
    keys = [redrive_key(run) for run in dead_runs]
    redriven_keys = {run.key for run in await parts.store.runs_by_key(keys) if run}
    letters = [
        responses.DeadLetter(**run_view(run, caller).model_dump(), redriven_by=key if key in redriven_keys else None)
        for run, key in zip(dead_runs, keys, strict=True)
    ]
    return responses.DeadLetterPage(
        runs=letters, next_page_token=dead_runs[-1].key if len(dead_runs) == limit else None
    )


@router.get("/schedules/{schedule_id}/why")
async def account(
    schedule_id: Id, caller: Reader, at: At = None, run: RunKey | None = None, parts: AppContext = Used
) -> responses.Why:
    """Return the outcome, with its reason, of the last period up to an instant, or of the run with a key.

    A run that was requested exactly at the instant comes before an earlier period. `decision` is null for a run that
    was requested, unless it repeats a period.
    """
    at_ms = await parts.store.now() if at is None else milliseconds(at)
    report = await why(parts.store, caller.identity(schedule_id), at_ms, run_key=run or "")
    report = replace(report, attempts=visible_attempts(report.attempts, caller))
    outcome_record = report.run or report.gap
    return responses.Why(
        period=report.period.id,
        explanation=list(report.lines()),
        outcome=str(outcome_record.outcome) if outcome_record and outcome_record.outcome else None,
        reason=str(outcome_record.reason) if outcome_record and outcome_record.reason else None,
        state=str(report.run.state) if report.run else None,
        revision=report.revision.number,
        decision=report.decision,
        started_at=instant_text(report.run.started) if report.run else None,
        finished_at=instant_text(report.run.finished) if report.run else None,
        attempts=attempt_views(report.attempts, caller),
    )


@router.get("/schedules/{schedule_id}/history")
async def history(schedule_id: Id, caller: Reader, parts: AppContext = Used) -> responses.History:
    """Return the changes of a schedule, also a deleted one: by whom, when and why; at most 1,000 of each kind."""
    identity = caller.identity(schedule_id)
    revisions = (await parts.store.revisions(identity))[-MAX_CHANGES:]
    if not revisions:
        raise NotFound("NOT_FOUND", f"unknown schedule {schedule_id!r}", hint="define it first")
    changes = [(revision.at, change_view(revision, parts.config)) for revision in revisions]
    changes += [(action.at, action_view(action)) for action in (await parts.store.actions(identity))[-MAX_CHANGES:]]
    return responses.History(
        changes=[change for _, change in sorted(changes, key=lambda dated_change: dated_change[0])]
    )


async def run_of(key: str, caller: Caller, parts: AppContext) -> Run:
    """Return the run of a key if it belongs to the caller; a run of another tenant looks as if it did not exist."""
    run = (await parts.store.runs_by_key([key]))[0] if _KEY.fullmatch(key) else None
    if run is None or not caller.owns(run.identity):
        raise NotFound("NOT_FOUND", "unknown run", hint="use the key that the run was sent with")
    return run


async def check_token(token: str, identity: str, caller: Caller, parts: AppContext) -> None:
    """Reject a page token that does not name a run of the schedule."""
    if token and (await page_run(token, caller, parts)).identity != identity:
        raise bad_token()


async def page_run(token: str, caller: Caller, parts: AppContext) -> Run:
    """Return the run that a page token names: the last run of the previous page."""
    try:
        return await run_of(token, caller, parts)
    except NotFound:
        raise bad_token() from None


def bad_token() -> InvalidInput:
    """Return the error for a page token of another list."""
    return InvalidInput(
        "BAD_FIELD", "the page token does not belong to this list", hint="use next_page_token unchanged"
    )


def milliseconds(text: str) -> int:
    """Parse an instant, in milliseconds since the epoch."""
    try:
        return instant_of(text) * 1000
    except ValueError as error:
        raise InvalidInput("BAD_FIELD", str(error), hint="use an instant such as 2026-03-01T00:00:00Z") from None


async def upcoming_view(state: ScheduleState, now: int, count: int, until: str | None) -> responses.UpcomingRuns:
    """Return the upcoming runs of a schedule, or why there are none."""
    last = None if until is None else milliseconds(until)
    search = await upcoming_within_time(state, now, count + 1)
    selected = [due for due in search.dues if last is None or due.at <= last]
    runs = [upcoming_run(due) for due in selected[:count]]
    reason = None if search.dues else await no_run_reason(state, now, timed_out=search.timed_out)
    has_more = len(selected) > count or not search.complete
    return responses.UpcomingRuns(runs=runs, has_more=has_more, summary=describe(state.job.schedule), reason=reason)


async def no_run_reason(state: ScheduleState, now: int, *, timed_out: bool) -> str:
    """Return why a schedule has no upcoming run."""
    if timed_out:
        return f"no run was found within the search time of {SEARCH_SECONDS} s"
    return await compute(no_upcoming_reason, state, now)
