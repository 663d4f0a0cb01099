"""What may be asked: when it runs next, what became of its runs, why, and what was done to it."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query, Response

from kron.apps.service import answers
from kron.apps.service.caller import Caller, Reader
from kron.apps.service.compute import coming_soon, compute, written
from kron.apps.service.definition import job_of
from kron.apps.service.guard import Guarded
from kron.apps.service.models import Id, Question, RunKey
from kron.apps.service.parts import Parts, Used
from kron.apps.service.schedules import Limit, Token
from kron.apps.service.shown import run_shown
from kron.coming import nothing
from kron.core.case import Case
from kron.core.run import REDRIVE, Run
from kron.core.zone import instant_of, rfc3339, rfc3339_ms
from kron.errors import KronError
from kron.language.english import english
from kron.language.explain import unparse
from kron.registrar import again
from kron.why import why

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

MOST_FIRES = 1_000
MOST_CHANGES = 1_000
Count = Annotated[int, Query(ge=1, le=MOST_FIRES)]
At = Annotated[str | None, Query(max_length=40)]
_KEY = re.compile(r"[0-9a-f]{64}")


@router.get("/schedules/{schedule_id}/next")
async def next_fires(
    schedule_id: Id, caller: Reader, n: Count = 5, until: At = None, parts: Parts = Used
) -> answers.Fires:
    """The next runs, up to an instant if one is given."""
    case = await parts.registrar.get(caller.identity(schedule_id))
    return await _fires(case, await parts.store.now(), n, until)


@router.post("/preview")
async def preview(
    asked: Question, caller: Reader, n: Count = 5, until: At = None, parts: Parts = Used
) -> answers.Fires:
    """When a definition would run, if it were defined now. Nothing is stored."""
    now = await parts.store.now()
    job, warnings = await compute(job_of, asked.definition, caller.identity(asked.id), parts.config, now // 1000)
    fires = await _fires(Case(job, 1, 0, now), now, n, until)
    return fires.model_copy(update={"warnings": warnings})


@router.get("/schedules/{schedule_id}/runs", response_model=answers.RunPage)
async def runs(
    schedule_id: Id, caller: Reader, limit: Limit = 20, page_token: Token = "", parts: Parts = Used
) -> Response:
    """The runs of a schedule, newest first, by the page."""
    identity = caller.identity(schedule_id)
    await check_token(page_token, identity, caller, parts)
    found = await parts.registrar.runs(identity, before=page_token, limit=limit)
    token = found[-1].key if len(found) == limit else None
    called = await parts.store.run_ids([run.key for run in found])
    known = list(zip(found, called, strict=True))
    return await written(
        lambda: answers.RunPage(runs=[run_shown(run, caller, name) for run, name in known], next_page_token=token)
    )


@router.get("/runs/{key}")
async def run(key: RunKey, caller: Reader, parts: Parts = Used) -> answers.RunShown:
    """A run, by its idempotency key."""
    found = await run_of(key, caller, parts)
    (run_id,) = await parts.store.run_ids([key])
    return run_shown(found, caller, run_id)


@router.get("/dead-letters")
async def dead_letters(
    caller: Reader, prefix: Token = "", limit: Limit = 20, page_token: Token = "", parts: Parts = Used
) -> answers.DeadPage:
    """The runs that could not be started, the last that was given up first, and what was driven in their places."""
    if page_token:
        await _page_run(page_token, caller, parts)
    found = await parts.registrar.dead(caller.prefix + prefix, before=page_token, limit=limit)
    keys = [again(run.identity, [run.nominal], REDRIVE, run.key)[0] for run in found]
    driven = {run.key for run in await parts.store.find(keys) if run}
    letters = [
        answers.Dead(**run_shown(run, caller).model_dump(), redriven_by=key if key in driven else None)
        for run, key in zip(found, keys, strict=True)
    ]
    return answers.DeadPage(runs=letters, next_page_token=found[-1].key if len(found) == limit else None)


@router.get("/schedules/{schedule_id}/why")
async def account(schedule_id: Id, caller: Reader, at: At = None, parts: Parts = Used) -> answers.Why:
    """What became of the last period up to an instant, and why."""
    moment = await parts.store.now() if at is None else milliseconds(at)
    told = await why(parts.store, caller.identity(schedule_id), moment)
    ending = told.run or told.gap
    return answers.Why(
        period=told.period.id,
        words=list(told.words()),
        outcome=str(ending.verdict) if ending and ending.verdict else None,
        reason=str(ending.reason) if ending and ending.reason else None,
        state=str(told.run.state) if told.run else None,
        revision=told.revision.number,
        decision=told.decision,
    )


@router.get("/schedules/{schedule_id}/history")
async def history(schedule_id: Id, caller: Reader, parts: Parts = Used) -> answers.History:
    """What was done to a schedule, the last thousand of each kind: by whom, when and why. Of deleted ones too."""
    identity = caller.identity(schedule_id)
    revisions = (await parts.store.revisions(identity))[-MOST_CHANGES:]
    if not revisions:
        raise KronError("NOT_FOUND", f"there is no schedule {schedule_id!r}", hint="define it first")
    done = [
        (
            r.at,
            answers.Change(
                what="defined",
                at=rfc3339_ms(r.at),
                who=r.who,
                note=r.note,
                revision=r.number,
                schedule=unparse(r.job.schedule),
            ),
        )
        for r in revisions
    ]
    done += [
        (a.at, answers.Change(what=str(a.deed), at=rfc3339_ms(a.at), who=a.who, note=a.note, until=_until(a.until)))
        for a in (await parts.store.acts(identity))[-MOST_CHANGES:]
    ]
    return answers.History(changes=[change for _, change in sorted(done, key=lambda each: each[0])])


async def run_of(key: str, caller: Caller, parts: Parts) -> Run:
    """The run of a key, if it is the caller's; another's is as if it were not there."""
    found = (await parts.store.find([key]))[0] if _KEY.fullmatch(key) else None
    if found is None or not caller.owns(found.identity):
        raise KronError("NOT_FOUND", "there is no such run", hint="give the key that the run was sent with")
    return found


async def check_token(token: str, identity: str, caller: Caller, parts: Parts) -> None:
    """Refuse a page token that does not stand for a run of the schedule."""
    if token and (await _page_run(token, caller, parts)).identity != identity:
        raise _bad_token()


async def _page_run(token: str, caller: Caller, parts: Parts) -> Run:
    """The run that a page token names: the last of the page before."""
    try:
        return await run_of(token, caller, parts)
    except KronError as error:
        raise _bad_token() if error.code == "NOT_FOUND" else error from None


def _bad_token() -> KronError:
    return KronError("BAD_FIELD", "the page token is not one of this list", hint="give next_page_token as it was")


def milliseconds(text: str) -> int:
    """The instant of a text."""
    try:
        return instant_of(text) * 1000
    except ValueError as error:
        raise KronError("BAD_FIELD", str(error), hint="write an instant such as 2026-03-01T00:00:00Z") from None


async def _fires(case: Case, now: int, count: int, until: str | None) -> answers.Fires:
    last = None if until is None else milliseconds(until)
    dues, whole = await coming_soon(case, now, count + 1)
    wanted = [due for due in dues if last is None or due.at <= last]
    fires = [answers.Fire(period=rfc3339(due.nominal), at=rfc3339_ms(due.at)) for due in wanted[:count]]
    reason = None if dues or not whole else await compute(nothing, case, now)
    more = len(wanted) > count or not whole
    return answers.Fires(fires=fires, more=more, in_words=english(case.job.schedule), reason=reason)


def _until(at: int | None) -> str | None:
    return None if at is None else rfc3339(at // 1000)
