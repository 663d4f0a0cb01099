"""Routes of the cron-service specification, with its literal names."""

from __future__ import annotations

from hashlib import sha256
from uuid import uuid4

from fastapi import APIRouter, Response

from kron.apps.record_fields import next_run_at
from kron.apps.service.auth.caller import Caller, Reader, Starter, Writer
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import compute
from kron.apps.service.context import AppContext, Used
from kron.apps.service.problem import error_responses
from kron.apps.service.routes.queries import check_token
from kron.apps.service.routes.schedules import Limit, Token
from kron.apps.service.schemas import responses
from kron.apps.service.schemas.definition import job_of, of_document
from kron.apps.service.schemas.requests import Id, Pause, Start, Upsert
from kron.apps.service.schemas.views import row, run_row
from kron.errors import InvalidInput, InvalidSetting
from kron.timing.zone import instant_of

router = APIRouter(route_class=Guarded, tags=["document"])


@router.post("/schedules/upsert", responses=error_responses(429))
async def upsert_schedule(body: Upsert, caller: Writer, parts: AppContext = Used) -> responses.Upserted:
    """Define or redefine a schedule."""
    return await upsert(body, caller, parts)


async def upsert(body: Upsert, caller: Caller, parts: AppContext) -> responses.Upserted:
    """Define or redefine a schedule as the specification describes it."""
    schedule_id = body.schedule_id or uuid4().hex
    now = await parts.store.now()
    identity = caller.identity(schedule_id)
    job, warnings = await compute(job_of, of_document(body), identity, parts.config, now // 1000)
    async with parts.quotas.room(caller, identity):
        state = await parts.registrar.upsert(job, caller.actor())
    return responses.Upserted(schedule_id=schedule_id, next_run_at=next_run_at(state), warnings=warnings)


@router.post("/schedules/pause", status_code=204, responses=error_responses(404))
async def pause_schedule(body: Pause, caller: Writer, parts: AppContext = Used) -> Response:
    """Pause or resume a schedule."""
    identity = caller.identity(body.schedule_id)
    if body.paused:
        await parts.registrar.pause(identity, caller.actor())
    else:
        await parts.registrar.resume(identity, caller.actor())
    return Response(status_code=204)


@router.get("/schedules/{schedule_id}")
async def get_schedule(schedule_id: Id, caller: Reader, parts: AppContext = Used) -> responses.Row:
    """Return a schedule with its next five fire times."""
    state = await parts.registrar.get(caller.identity(schedule_id))
    return await row(parts.registrar, state, caller, parts.config)


@router.delete("/schedules/{schedule_id}", status_code=204)
async def delete_schedule(schedule_id: Id, caller: Writer, parts: AppContext = Used) -> Response:
    """Delete a schedule. Its runs are kept."""
    await parts.registrar.delete(caller.identity(schedule_id), caller.actor())
    return Response(status_code=204)


@router.get("/schedules/{schedule_id}/runs")
async def get_runs(
    schedule_id: Id, caller: Reader, limit: Limit = 20, page_token: Token = "", parts: AppContext = Used
) -> responses.RunRows:
    """List the runs of a schedule, newest first, in pages. A missed period has the status SKIPPED."""
    identity = caller.identity(schedule_id)
    await check_token(page_token, identity, caller, parts)
    runs = await parts.registrar.runs(identity, before=page_token, limit=limit)
    run_ids = await parts.store.run_ids([run.key for run in runs])
    rows = [run_row(run, caller, run_id) for run, run_id in zip(runs, run_ids, strict=True)]
    return responses.RunRows(runs=rows, next_page_token=runs[-1].key if len(runs) == limit else None)


@router.post("/run-launcher/start", responses=error_responses(501))
async def start(body: Start, caller: Starter, parts: AppContext = Used) -> responses.Started:
    """Start a run of a workflow. Returns false if the workflow does not exist."""
    if parts.starter is None:
        raise InvalidSetting("MISSING_PART", "this service has no executor", hint="set WORKFLOW_STORE and EXECUTOR_URL")
    try:
        instant_of(body.scheduled_for)
    except ValueError as error:
        raise InvalidInput("BAD_FIELD", str(error), hint="use an instant such as 2026-03-01T00:00:00Z") from None
    name, key = caller.prefix + body.workflow_id, await _key(body.idempotency_key, caller, parts)
    started = await parts.starter.start(name, body.version, body.user_id, body.scheduled_for, key, tenant=caller.tenant)
    return responses.Started(started=started)


async def _key(key: str, caller: Caller, parts: AppContext) -> str:
    """Return the executor's key of a run: that of a run of the caller's tenant, or one of the tenant's own key space.

    Keys can be computed from schedule ids. If any key were allowed, a tenant could use up the keys of others.
    """
    if not caller.tenant:
        return key
    (run,) = await parts.store.runs_by_key([key])
    if run is not None and caller.owns(run.identity):
        return key
    return sha256(f"kron launcher\n{caller.tenant}\n{key}".encode()).hexdigest()
