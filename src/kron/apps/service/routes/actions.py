"""Actions on a schedule: pause, resume, trigger, backfill and redrive; and the reports of targets."""

from __future__ import annotations

from uuid import uuid4

from fastapi import APIRouter, Response

from kron.apps.service.auth.caller import Reporter, Runner, Writer
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import compute
from kron.apps.service.context import AppContext, Used
from kron.apps.service.problem import error_responses
from kron.apps.service.routes.queries import milliseconds, run_of
from kron.apps.service.routes.schedules import IfMatch, Key, revision_of
from kron.apps.service.schemas import plans, requests, responses
from kron.apps.service.schemas.requests import Id, NoteBody, Pausing, Range, RunKey, RunReport
from kron.apps.service.schemas.views import planned_backfill, run_view, schedule_view, upcoming_run
from kron.engine.backfill import MAX_BACKFILL_PERIODS
from kron.engine.backfill_plan import backfill_plan
from kron.engine.request_check import require_revision, require_schedule
from kron.errors import InvalidInput
from kron.rules.launch_result import Report
from kron.rules.pause_plan import pause_plan
from kron.timing.period import count_nominals
from kron.timing.schedule.policy import Overlap

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["acts"])

MAX_PLANNED_PERIODS = 100  # periods in the response to a pause that is not made
MAX_RANGE_SECONDS = 366 * 86_400  # maximum length of a backfill range in seconds


@router.post("/schedules/{schedule_id}/pause")
async def pause(
    schedule_id: Id,
    body: Pausing,
    caller: Writer,
    if_match: IfMatch = None,
    dry_run: bool = False,
    parts: AppContext = Used,
) -> responses.ScheduleView | plans.PausePlan:
    """Pause a schedule until a given time, or until it is resumed.

    With `dry_run`, nothing is stored. The response has the periods that would pass during the pause, and the first run
    after it.
    """
    until = None if body.until is None else milliseconds(body.until)
    identity, expected = caller.identity(schedule_id), revision_of(if_match)
    if dry_run:
        return await _pause_plan(identity, until, expected, parts)
    state = await parts.registrar.pause(identity, caller.actor(body.note), until=until, expected=expected)
    return schedule_view(state, caller, parts.config)


async def _pause_plan(identity: str, until: int | None, expected: int | None, parts: AppContext) -> plans.PausePlan:
    (stored,), now = await parts.store.get_with_time([identity])
    require_revision(stored, identity, expected)
    state = require_schedule(stored, identity)
    plan = await compute(pause_plan, state, now, until, MAX_PLANNED_PERIODS)
    return plans.PausePlan(
        periods=[upcoming_run(due) for due in plan.periods],
        has_more=plan.more,
        first_after=upcoming_run(plan.first_after) if plan.first_after else None,
        resume=str(state.policy.resume),
    )


@router.post("/schedules/{schedule_id}/resume")
async def resume(
    schedule_id: Id, body: NoteBody, caller: Writer, if_match: IfMatch = None, parts: AppContext = Used
) -> responses.ScheduleView:
    """Resume a schedule. Periods that passed during the pause are dropped."""
    identity, expected = caller.identity(schedule_id), revision_of(if_match)
    state = await parts.registrar.resume(identity, caller.actor(body.note), expected=expected)
    return schedule_view(state, caller, parts.config)


@router.post("/schedules/{schedule_id}/trigger", status_code=202, responses=error_responses(429))
async def trigger(
    schedule_id: Id, caller: Runner, idempotency_key: Key = None, parts: AppContext = Used
) -> responses.RunView:
    """Run a schedule now, in addition to its periods. Requests with the same Idempotency-Key give the same run.

    The state is `skipped`, with the reason `overlap`, if the overlap policy is `skip` and another run is active.
    """
    identity = caller.identity(schedule_id)
    parts.quotas.spend(caller)
    return run_view(await parts.registrar.trigger(identity, idempotency_key or uuid4().hex, caller.actor("")), caller)


@router.post(
    "/schedules/{schedule_id}/backfill",
    status_code=202,
    responses={200: {"model": plans.BackfillPlan, "description": "Effect, for a dry run"}, **error_responses(429)},
)
async def backfill(
    schedule_id: Id,
    body: Range,
    caller: Runner,
    response: Response,
    idempotency_key: Key = None,
    dry_run: bool = False,
    parts: AppContext = Used,
) -> responses.RunPage | plans.BackfillPlan:
    """Run the periods between two instants again, at most 1,000. They queue unless `overlap` says otherwise.

    With `dry_run`, nothing is stored. The response has the status 200 and the periods with their outcomes so far.
    """
    identity, request = caller.identity(schedule_id), idempotency_key or uuid4().hex
    first, last = milliseconds(body.start_at) // 1000, milliseconds(body.end_at) // 1000
    _check_range(first, last)
    if dry_run:
        response.status_code = 200
        return planned_backfill(await backfill_plan(parts.store, identity, first, last))
    schedule = (await parts.registrar.get(identity)).job.schedule
    count = count_nominals(schedule, first - 1, last)
    if count <= MAX_BACKFILL_PERIODS:  # if there are more, nothing is started
        parts.quotas.spend(caller, max(1, count))
    runs = await parts.registrar.backfill(identity, first, last, request, Overlap(body.overlap), caller.actor(""))
    return responses.RunPage(runs=[run_view(run, caller) for run in runs], next_page_token=None)


def _check_range(first: int, last: int) -> None:
    if last < first:
        raise InvalidInput(
            "BAD_FIELD", "last is earlier than first", hint="use a value of last that is not before first"
        )
    if last > first + MAX_RANGE_SECONDS:
        raise InvalidInput("BAD_FIELD", "the range is longer than 366 days", hint="split it into several ranges")


@router.post("/runs/{key}/redrive", status_code=202, responses=error_responses(409, 429))
async def redrive(
    key: RunKey, caller: Runner, overlap: requests.Overlap = "queue", parts: AppContext = Used
) -> responses.RunView:
    """Run the period of a dead letter again, as a new run. Requests with the same key give the same run."""
    await run_of(key, caller, parts)
    parts.quotas.spend(caller)
    return run_view(await parts.registrar.redrive(key, Overlap(overlap), caller.actor("")), caller)


@router.post("/runs/{key}/report")
async def report(key: RunKey, body: RunReport, caller: Reporter, parts: AppContext = Used) -> responses.Reported:
    """Report that a run has started, succeeded or failed. A finished run does not change; its state is returned."""
    await run_of(key, caller, parts)
    accepted = await parts.registrar.report(key, Report(body.status), body.attempt, error=body.error or "")
    return responses.Reported(accepted=accepted, state=str((await run_of(key, caller, parts)).state))
