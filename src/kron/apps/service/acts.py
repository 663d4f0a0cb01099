"""What is done to a schedule besides defining it: pause, resume, trigger, backfill; and what a target reports."""

from __future__ import annotations

from uuid import uuid4

from fastapi import APIRouter

from kron.apps.service import answers, models
from kron.apps.service.asking import milliseconds, run_of
from kron.apps.service.caller import Reporter, Runner, Writer
from kron.apps.service.guard import Guarded
from kron.apps.service.models import Id, Pausing, Range, Reasoned, RunKey, Said
from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import may
from kron.apps.service.schedules import IfMatch, Key, revision_of
from kron.apps.service.shown import run_shown, shown
from kron.core.answer import Report
from kron.core.count import count_nominals
from kron.core.policy import Overlap
from kron.errors import KronError
from kron.registrar import MOST_BACKFILL

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["acts"])

LONGEST = 366 * 86_400  # seconds of a range to run again


@router.post("/schedules/{schedule_id}/pause")
async def pause(
    schedule_id: Id, asked: Pausing, caller: Writer, if_match: IfMatch = None, parts: Parts = Used
) -> answers.Shown:
    """Let no period be handled, until then or until it is resumed."""
    until = None if asked.until is None else milliseconds(asked.until)
    identity, expected = caller.identity(schedule_id), revision_of(if_match)
    case = await parts.registrar.pause(identity, caller.asks(asked.note), until=until, expected=expected)
    return shown(case, caller, parts.config)


@router.post("/schedules/{schedule_id}/resume")
async def resume(
    schedule_id: Id, asked: Reasoned, caller: Writer, if_match: IfMatch = None, parts: Parts = Used
) -> answers.Shown:
    """End a pause. What passed meanwhile is dropped."""
    identity, expected = caller.identity(schedule_id), revision_of(if_match)
    case = await parts.registrar.resume(identity, caller.asks(asked.note), expected=expected)
    return shown(case, caller, parts.config)


@router.post("/schedules/{schedule_id}/trigger", status_code=202, responses=may(429))
async def trigger(
    schedule_id: Id, caller: Runner, idempotency_key: Key = None, parts: Parts = Used
) -> answers.RunShown:
    """Run it now, in addition to its calendar. The same Idempotency-Key is the same run.

    The state is `skipped`, with the reason `overlap`, if the overlap policy is `skip` and another run is active.
    """
    identity = caller.identity(schedule_id)
    parts.quotas.spend(caller)
    return run_shown(await parts.registrar.trigger(identity, idempotency_key or uuid4().hex), caller)


@router.post("/schedules/{schedule_id}/backfill", status_code=202, responses=may(429))
async def backfill(
    schedule_id: Id, asked: Range, caller: Runner, idempotency_key: Key = None, parts: Parts = Used
) -> answers.RunPage:
    """Run the periods from one instant to another again, a thousand at most. They queue unless `overlap` differs."""
    identity, request = caller.identity(schedule_id), idempotency_key or uuid4().hex
    first, last = milliseconds(asked.first) // 1000, milliseconds(asked.last) // 1000
    _check_range(first, last)
    schedule = (await parts.registrar.get(identity)).job.schedule
    count = count_nominals(schedule, first - 1, last)
    if count <= MOST_BACKFILL:  # of more, nothing is started
        parts.quotas.spend(caller, max(1, count))
    runs = await parts.registrar.backfill(identity, first, last, request, Overlap(asked.overlap))
    return answers.RunPage(runs=[run_shown(run, caller) for run in runs], next_page_token=None)


def _check_range(first: int, last: int) -> None:
    if last < first:
        raise KronError("BAD_FIELD", "last is earlier than first", hint="let first come before last")
    if last > first + LONGEST:
        raise KronError("BAD_FIELD", "the range is longer than a year", hint="ask for several ranges")


@router.post("/runs/{key}/redrive", status_code=202, responses=may(409, 429))
async def redrive(
    key: RunKey, caller: Runner, overlap: models.Overlap = "queue", parts: Parts = Used
) -> answers.RunShown:
    """Run the period of a dead letter once more, as a run of its own. The same key is the same run."""
    await run_of(key, caller, parts)
    parts.quotas.spend(caller)
    return run_shown(await parts.registrar.redrive(key, Overlap(overlap)), caller)


@router.post("/runs/{key}/report")
async def report(key: RunKey, asked: Said, caller: Reporter, parts: Parts = Used) -> answers.Reported:
    """Say that a run has started, succeeded or failed. A run that is finished already is answered as it stands."""
    await run_of(key, caller, parts)
    counted = await parts.registrar.report(key, Report(asked.status), asked.attempt)
    return answers.Reported(counted=counted, state=str((await run_of(key, caller, parts)).state))
