"""Actions on many schedules or dead letters: pause, resume, trigger and redrive, 500 in each request."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from fastapi import APIRouter

from kron.apps import bulk_plan
from kron.apps.service.auth.caller import Caller, Runner, Writer
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.context import AppContext, Used
from kron.apps.service.problem import error_responses
from kron.apps.service.routes.queries import milliseconds, page_run
from kron.apps.service.routes.schedules import Key
from kron.apps.service.schemas import bulk as schemas
from kron.engine.bulk import BATCH_SIZE, MAX_BULK, BulkResult, pause_all, redrive_all, resume_all, trigger_all
from kron.errors import InvalidInput, NotFound
from kron.timing.labels import selector_of
from kron.timing.schedule.policy import Overlap

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["acts"])


@router.post("/schedules:pause")
async def pause(
    body: schemas.BulkPause, caller: Writer, dry_run: bool = False, parts: AppContext = Used
) -> schemas.BulkResult | schemas.BulkPlan:
    """Pause many schedules: those with `ids`, or all that match `filter`, in batches of 500.

    Repeat the request with `next_page_token` until it is null. A schedule that is paused in this way already stays as
    it is, so a request whose response was lost can be repeated. With `dry_run`, nothing is stored, and all batches up
    to 10,000 schedules are counted.
    """
    until = None if body.until is None else milliseconds(body.until)
    names = await _schedules(body, caller, parts, MAX_BULK + 1 if dry_run else BATCH_SIZE)
    if dry_run:
        return _plan(await bulk_plan.pause_plan(parts.store, names, until))
    return _result(await pause_all(parts.registrar, names, caller.actor(body.note), until=until), names, body, caller)


@router.post("/schedules:resume")
async def resume(
    body: schemas.BulkRequest, caller: Writer, dry_run: bool = False, parts: AppContext = Used
) -> schemas.BulkResult | schemas.BulkPlan:
    """Resume many schedules, in batches as `POST /v1/schedules:pause`."""
    names = await _schedules(body, caller, parts, MAX_BULK + 1 if dry_run else BATCH_SIZE)
    if dry_run:
        return _plan(await bulk_plan.resume_plan(parts.store, names))
    return _result(await resume_all(parts.registrar, names, caller.actor(body.note)), names, body, caller)


@router.post("/schedules:trigger", responses=error_responses(429))
async def trigger(
    body: schemas.BulkRequest,
    caller: Runner,
    idempotency_key: Key = None,
    dry_run: bool = False,
    parts: AppContext = Used,
) -> schemas.BulkResult | schemas.BulkPlan:
    """Run many schedules now, in batches as `POST /v1/schedules:pause`.

    Send the same Idempotency-Key with each batch: requests with the same key give one run of each schedule. A batch of
    `filter` has no more schedules than the quota allows manual runs per minute. A batch that does not fit into the
    present minute is refused; Retry-After says when it fits.
    """
    limit = MAX_BULK + 1 if dry_run else _batch_size(body, parts)
    names = await _schedules(body, caller, parts, limit)
    if dry_run:
        return _plan(await bulk_plan.trigger_plan(parts.store, names))
    parts.quotas.spend(caller, max(1, len(names)))
    key, actor = idempotency_key or uuid4().hex, caller.actor(body.note)
    return _result(await trigger_all(parts.registrar, names, key, actor), names, body, caller, limit)


@router.post("/dead-letters:redrive", responses=error_responses(404, 429))
async def redrive(
    body: schemas.BulkRedrive, caller: Runner, dry_run: bool = False, parts: AppContext = Used
) -> schemas.BulkResult | schemas.BulkPlan:
    """Run the periods of many dead letters again, in batches as `POST /v1/schedules:pause`.

    A dead letter that was redriven before stays as it is. The quota of manual runs limits a batch as that of
    `POST /v1/schedules:trigger`.
    """
    limit = MAX_BULK + 1 if dry_run else _batch_size(body, parts)
    keys = await _dead_letters(body, caller, parts, limit)
    if dry_run:
        return _plan(await bulk_plan.redrive_plan(parts.registrar, keys))
    parts.quotas.spend(caller, max(1, len(keys)))
    actor = caller.actor(body.note)
    return _result(await redrive_all(parts.registrar, keys, Overlap(body.overlap), actor), keys, body, caller, limit)


def _batch_size(body: schemas.BulkRequest | schemas.BulkRedrive, parts: AppContext) -> int:
    """Return how many runs one batch can start: fewer than 500 if the quota of manual runs is smaller."""
    return BATCH_SIZE if body.filter is None else parts.quotas.batch_size(BATCH_SIZE)


async def _schedules(body: schemas.BulkRequest, caller: Caller, parts: AppContext, limit: int) -> list[str]:
    """Return the identities of the schedules that are meant, after the page token."""
    if (body.ids is None) == (body.filter is None):
        raise _one_of("ids")
    if body.filter is None:
        return [caller.identity(name) for name in body.ids or ()]
    prefix, labels = caller.prefix + body.filter.prefix, [selector_of(label) for label in body.filter.labels]
    after = caller.identity(body.page_token) if body.page_token else ""
    return await parts.store.identities(after, limit, prefix, body.filter.paused, False, labels)


async def _dead_letters(body: schemas.BulkRedrive, caller: Caller, parts: AppContext, limit: int) -> list[str]:
    """Return the keys of the dead letters that are meant. A run of another tenant looks as if it did not exist."""
    if (body.keys is None) == (body.filter is None):
        raise _one_of("keys")
    if body.filter is None:
        keys = body.keys or []
        runs = await parts.store.runs_by_key(keys)
        if not all(run is not None and caller.owns(run.identity) for run in runs):
            raise NotFound("NOT_FOUND", "unknown run", hint="use keys that the list of dead letters has")
        return keys
    if body.page_token:
        await page_run(body.page_token, caller, parts)
    letters = await parts.store.dead_letters(caller.prefix + body.filter.prefix, limit, body.page_token)
    return [run.key for run in letters]


def _one_of(name: str) -> InvalidInput:
    message = f"invalid field {name}: the request needs either {name} or filter"
    return InvalidInput("BAD_FIELD", message, hint="use one of the two", details={"field": name})


def _result(
    result: BulkResult,
    names: Sequence[str],
    body: schemas.BulkRequest | schemas.BulkRedrive,
    caller: Caller,
    limit: int = BATCH_SIZE,
) -> schemas.BulkResult:
    is_more = body.filter is not None and len(names) == limit
    problems = [
        schemas.BulkProblem(id=caller.name(name), code=error.code, message=error.message)
        for name, error in result.problems
    ]
    token = caller.name(names[-1]) if is_more else None
    return schemas.BulkResult(done=result.done, unchanged=result.unchanged, problems=problems, next_page_token=token)


def _plan(plan: bulk_plan.BulkPlan) -> schemas.BulkPlan:
    return schemas.BulkPlan(
        count=plan.meant,
        has_more=plan.more,
        counted=plan.read,
        changed=plan.changed,
        periods=plan.periods,
        has_more_periods=plan.more_periods,
        skipped=plan.skipped,
    )
