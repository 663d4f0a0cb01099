"""The routes of the cron-service document, literally."""

from __future__ import annotations

from hashlib import sha256
from uuid import uuid4

from fastapi import APIRouter, Response

from kron.apps.service import answers
from kron.apps.service.asking import check_token
from kron.apps.service.caller import Caller, Reader, Starter, Writer
from kron.apps.service.compute import compute
from kron.apps.service.definition import job_of, of_document
from kron.apps.service.guard import Guarded
from kron.apps.service.models import Id, Pause, Start, Upsert
from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import may
from kron.apps.service.schedules import Limit, Token
from kron.apps.service.shown import next_run_at, row, run_row
from kron.core.zone import instant_of
from kron.errors import KronError

router = APIRouter(route_class=Guarded, tags=["document"])


@router.post("/schedules/upsert", responses=may(429))
async def upsert_schedule(asked: Upsert, caller: Writer, parts: Parts = Used) -> answers.Upserted:
    """Define a schedule, or define it anew."""
    return await upsert(asked, caller, parts)


async def upsert(asked: Upsert, caller: Caller, parts: Parts) -> answers.Upserted:
    """The document's upsert."""
    schedule_id = asked.schedule_id or uuid4().hex
    now = await parts.store.now()
    identity = caller.identity(schedule_id)
    job, warnings = await compute(job_of, of_document(asked), identity, parts.config, now // 1000)
    async with parts.quotas.room(caller, identity):
        case = await parts.registrar.upsert(job, caller.asks())
    return answers.Upserted(schedule_id=schedule_id, next_run_at=next_run_at(case), warnings=warnings)


@router.post("/schedules/pause", status_code=204, responses=may(404))
async def pause_schedule(asked: Pause, caller: Writer, parts: Parts = Used) -> Response:
    """Pause a schedule, or let it go on."""
    identity = caller.identity(asked.schedule_id)
    if asked.paused:
        await parts.registrar.pause(identity, caller.asks())
    else:
        await parts.registrar.resume(identity, caller.asks())
    return Response(status_code=204)


@router.get("/schedules/{schedule_id}")
async def get_schedule(schedule_id: Id, caller: Reader, parts: Parts = Used) -> answers.Row:
    """A schedule, with its next five fire times."""
    case = await parts.registrar.get(caller.identity(schedule_id))
    return await row(parts.registrar, case, caller, parts.config)


@router.delete("/schedules/{schedule_id}", status_code=204)
async def delete_schedule(schedule_id: Id, caller: Writer, parts: Parts = Used) -> Response:
    """Delete a schedule. Its runs stay on record."""
    await parts.registrar.delete(caller.identity(schedule_id), caller.asks())
    return Response(status_code=204)


@router.get("/schedules/{schedule_id}/runs")
async def get_runs(
    schedule_id: Id, caller: Reader, limit: Limit = 20, page_token: Token = "", parts: Parts = Used
) -> answers.RunRows:
    """The runs of a schedule by the page, newest first. A period that was missed has the status SKIPPED."""
    identity = caller.identity(schedule_id)
    await check_token(page_token, identity, caller, parts)
    runs = await parts.registrar.runs(identity, before=page_token, limit=limit)
    called = await parts.store.run_ids([run.key for run in runs])
    rows = [run_row(run, caller, run_id) for run, run_id in zip(runs, called, strict=True)]
    return answers.RunRows(runs=rows, next_page_token=runs[-1].key if len(runs) == limit else None)


@router.post("/run-launcher/start", responses=may(501))
async def start(asked: Start, caller: Starter, parts: Parts = Used) -> answers.Started:
    """Start a run of a workflow; false if there is no such workflow."""
    if parts.starter is None:
        raise KronError("MISSING_PART", "this service has no executor", hint="set WORKFLOWS and EXECUTOR")
    try:
        instant_of(asked.scheduled_for)
    except ValueError as error:
        raise KronError("BAD_FIELD", str(error), hint="write an instant such as 2026-03-01T00:00:00Z") from None
    name, key = caller.prefix + asked.workflow_id, await _key(asked.idempotency_key, caller, parts)
    started = await parts.starter.start(
        name, asked.version, asked.user_id, asked.scheduled_for, key, tenant=caller.tenant
    )
    return answers.Started(started=started)


async def _key(asked: str, caller: Caller, parts: Parts) -> str:
    """The key under which the executor knows a run: of a run of the caller's tenant, or out of its own key space.

    Keys can be computed from the ids of schedules: a tenant that could use any would use up those of others.
    """
    if not caller.tenant:
        return asked
    (run,) = await parts.store.find([asked])
    if run is not None and caller.owns(run.identity):
        return asked
    return sha256(f"kron launcher\n{caller.tenant}\n{asked}".encode()).hexdigest()
