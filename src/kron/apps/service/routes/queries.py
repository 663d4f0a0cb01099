"""Queries: upcoming runs, past runs, the outcome of a period, and the history of changes."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query, Response

from kron.apps.service.auth.caller import Caller, Reader
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import coming_soon, compute, written
from kron.apps.service.context import AppContext, Used
from kron.apps.service.routes.schedules import Limit, Token
from kron.apps.service.schemas import responses
from kron.apps.service.schemas.definition import job_of
from kron.apps.service.schemas.requests import Id, PreviewRequest, RunKey
from kron.apps.service.schemas.views import revision_shown, run_shown
from kron.engine.backfill import request_keys
from kron.engine.why import why
from kron.errors import InvalidInput, NotFound
from kron.language.english import describe
from kron.rules.run import REDRIVE, Run
from kron.rules.state import ScheduleState
from kron.rules.upcoming import no_upcoming_reason
from kron.timing.zone import instant_of, rfc3339, rfc3339_ms

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

MOST_FIRES = 1_000
MOST_CHANGES = 1_000
Count = Annotated[int, Query(ge=1, le=MOST_FIRES)]
At = Annotated[str | None, Query(max_length=40)]
_KEY = re.compile(r"[0-9a-f]{64}")


@router.get("/schedules/{schedule_id}/next", include_in_schema=False)  # the earlier name of the same route
@router.get("/schedules/{schedule_id}/upcoming")
async def upcoming_runs(
    schedule_id: Id, caller: Reader, n: Count = 5, until: At = None, parts: AppContext = Used
) -> responses.UpcomingRuns:
    """Return the upcoming runs of a schedule, optionally up to an instant."""
    case = await parts.registrar.get(caller.identity(schedule_id))
    return await _upcoming_runs(case, await parts.store.now(), n, until)


@router.post("/preview")
async def preview(
    asked: PreviewRequest, caller: Reader, n: Count = 5, until: At = None, parts: AppContext = Used
) -> responses.UpcomingRuns:
    """Return when a definition would run if it were defined now. Nothing is stored."""
    now = await parts.store.now()
    job, warnings = await compute(job_of, asked.definition, caller.identity(asked.id), parts.config, now // 1000)
    runs = await _upcoming_runs(ScheduleState(job, 1, 0, now), now, n, until)
    return runs.model_copy(update={"warnings": warnings})


@router.get("/schedules/{schedule_id}/runs", response_model=responses.RunPage)
async def runs(
    schedule_id: Id, caller: Reader, limit: Limit = 20, page_token: Token = "", parts: AppContext = Used
) -> Response:
    """List the runs of a schedule, newest first, in pages."""
    identity = caller.identity(schedule_id)
    await check_token(page_token, identity, caller, parts)
    found = await parts.registrar.runs(identity, before=page_token, limit=limit)
    token = found[-1].key if len(found) == limit else None
    called = await parts.store.run_ids([run.key for run in found])
    known = list(zip(found, called, strict=True))
    return await written(
        lambda: responses.RunPage(runs=[run_shown(run, caller, name) for run, name in known], next_page_token=token)
    )


@router.get("/runs/{key}")
async def run(key: RunKey, caller: Reader, parts: AppContext = Used) -> responses.RunView:
    """Return a run by its idempotency key."""
    found = await run_of(key, caller, parts)
    (run_id,) = await parts.store.run_ids([key])
    return run_shown(found, caller, run_id)


@router.get("/dead-letters")
async def dead_letters(
    caller: Reader, prefix: Token = "", limit: Limit = 20, page_token: Token = "", parts: AppContext = Used
) -> responses.DeadLetterPage:
    """List the dead letters (runs that could not be launched), latest first, and the runs that redrove them."""
    if page_token:
        await _page_run(page_token, caller, parts)
    found = await parts.registrar.dead(caller.prefix + prefix, before=page_token, limit=limit)
    keys = [request_keys(run.identity, [run.nominal], REDRIVE, run.key)[0] for run in found]
    driven = {run.key for run in await parts.store.runs_by_key(keys) if run}
    letters = [
        responses.DeadLetter(**run_shown(run, caller).model_dump(), redriven_by=key if key in driven else None)
        for run, key in zip(found, keys, strict=True)
    ]
    return responses.DeadLetterPage(runs=letters, next_page_token=found[-1].key if len(found) == limit else None)


@router.get("/schedules/{schedule_id}/why")
async def account(schedule_id: Id, caller: Reader, at: At = None, parts: AppContext = Used) -> responses.Why:
    """Return the outcome of the last period up to an instant, and its reason."""
    moment = await parts.store.now() if at is None else milliseconds(at)
    told = await why(parts.store, caller.identity(schedule_id), moment)
    ending = told.run or told.gap
    return responses.Why(
        period=told.period.id,
        explanation=list(told.lines()),
        outcome=str(ending.outcome) if ending and ending.outcome else None,
        reason=str(ending.reason) if ending and ending.reason else None,
        state=str(told.run.state) if told.run else None,
        revision=told.revision.number,
        decision=told.decision,
    )


@router.get("/schedules/{schedule_id}/history")
async def history(schedule_id: Id, caller: Reader, parts: AppContext = Used) -> responses.History:
    """Return the changes of a schedule, also a deleted one: by whom, when and why; at most 1,000 of each kind."""
    identity = caller.identity(schedule_id)
    revisions = (await parts.store.revisions(identity))[-MOST_CHANGES:]
    if not revisions:
        raise NotFound("NOT_FOUND", f"unknown schedule {schedule_id!r}", hint="define it first")
    done = [(revision.at, revision_shown(revision, parts.config)) for revision in revisions]
    done += [
        (
            a.at,
            responses.Change(
                action=str(a.kind), at=rfc3339_ms(a.at), actor=a.actor, note=a.note, until=_until(a.until)
            ),
        )
        for a in (await parts.store.actions(identity))[-MOST_CHANGES:]
    ]
    return responses.History(changes=[change for _, change in sorted(done, key=lambda each: each[0])])


async def run_of(key: str, caller: Caller, parts: AppContext) -> Run:
    """Return the run of a key if it belongs to the caller; a run of another tenant looks as if it did not exist."""
    found = (await parts.store.runs_by_key([key]))[0] if _KEY.fullmatch(key) else None
    if found is None or not caller.owns(found.identity):
        raise NotFound("NOT_FOUND", "unknown run", hint="use the key that the run was sent with")
    return found


async def check_token(token: str, identity: str, caller: Caller, parts: AppContext) -> None:
    """Reject a page token that does not name a run of the schedule."""
    if token and (await _page_run(token, caller, parts)).identity != identity:
        raise _bad_token()


async def _page_run(token: str, caller: Caller, parts: AppContext) -> Run:
    """Return the run that a page token names: the last run of the previous page."""
    try:
        return await run_of(token, caller, parts)
    except NotFound:
        raise _bad_token() from None


def _bad_token() -> InvalidInput:
    return InvalidInput(
        "BAD_FIELD", "the page token does not belong to this list", hint="use next_page_token unchanged"
    )


def milliseconds(text: str) -> int:
    """Parse an instant, in milliseconds since the epoch."""
    try:
        return instant_of(text) * 1000
    except ValueError as error:
        raise InvalidInput("BAD_FIELD", str(error), hint="use an instant such as 2026-03-01T00:00:00Z") from None


async def _upcoming_runs(case: ScheduleState, now: int, count: int, until: str | None) -> responses.UpcomingRuns:
    last = None if until is None else milliseconds(until)
    dues, whole = await coming_soon(case, now, count + 1)
    wanted = [due for due in dues if last is None or due.at <= last]
    runs = [responses.UpcomingRun(period=rfc3339(due.nominal), at=rfc3339_ms(due.at)) for due in wanted[:count]]
    reason = None if dues or not whole else await compute(no_upcoming_reason, case, now)
    more = len(wanted) > count or not whole
    return responses.UpcomingRuns(runs=runs, has_more=more, summary=describe(case.job.schedule), reason=reason)


def _until(at: int | None) -> str | None:
    return None if at is None else rfc3339(at // 1000)
