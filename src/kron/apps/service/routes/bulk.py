"""Bulk upsert: one JSON line per schedule, answered with one line each while the request is still being read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from kron.apps.service.auth.audit import facts_of
from kron.apps.service.auth.caller import Caller, Writer
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.bodies import pieces
from kron.apps.service.compute import compute
from kron.apps.service.context import AppContext, Used
from kron.apps.service.problem import invalid, problem
from kron.apps.service.schemas.definition import job_of
from kron.apps.service.schemas.requests import Definition, Line
from kron.apps.service.schemas.views import next_run_at
from kron.errors import KronError
from kron.rules.pause import Actor
from kron.rules.state import ScheduleState
from kron.timing.job import Job

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["schedules"])

LONGEST = 64 * 1024
TOGETHER = 500  # lines that are defined in one write
ON_A_LINE = 50  # schedules that share a line of the audit log
MEDIA = "application/x-ndjson"


class Asked(NamedTuple):
    """Parsed line of a request."""

    job: Job
    actor: Actor


class Asking(NamedTuple):
    """Caller, context and audit facts of a request."""

    caller: Caller
    parts: AppContext
    facts: dict[str, Any]


class Conversation(StreamingResponse):
    """Response that is sent while the request body still arrives, so it must not wait for a disconnect itself."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        await self.stream_response(send)


@router.post(
    "/schedules:bulk",
    response_class=StreamingResponse,
    responses={200: {"content": {MEDIA: {"schema": {"type": "string"}}}}},
    openapi_extra={"requestBody": {"content": {MEDIA: {"schema": {"type": "string"}}}}},
)
async def bulk(request: Request, caller: Writer, parts: AppContext = Used) -> StreamingResponse:
    """Define a schedule for each line. The response has one line for each, in order: the revision, or the problem."""
    facts = facts_of(request, caller, caller.address)
    return Conversation(_answers(pieces(request.stream()), Asking(caller, parts, facts)), media_type=MEDIA)


async def _answers(stream: AsyncIterator[bytes], asking: Asking) -> AsyncIterator[str]:
    number, waiting = 0, list[bytes]()
    async for line in _lines(stream):
        waiting.append(line)
        if len(waiting) == TOGETHER:
            for said in await _all(waiting, number, asking):
                yield said
            number, waiting = number + len(waiting), []
    for said in await _all(waiting, number, asking):
        yield said


async def _lines(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a stream. A line that is too long is truncated, which makes it invalid JSON."""
    rest = b""
    async for chunk in stream:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line[: LONGEST + 1]
        rest = rest[: LONGEST + 1]
    if rest:
        yield rest


async def _all(lines: list[bytes], before: int, asking: Asking) -> list[str]:
    caller, parts, _ = asking
    now = await parts.store.now()
    read = await compute(_read_all, lines, caller, parts, now)
    try:
        async with parts.quotas.room_for(
            caller, [each.job.identity for each in read if isinstance(each, Asked)]
        ) as full:
            read = [_refused(parts.quotas.full()) if _is_one_of(each, full) else each for each in read]
            intents = await _intend([each for each in read if isinstance(each, Asked)], asking)
            said = await _done(read, caller, parts)
    except KronError as error:  # none of these lines is defined
        said, intents = [_refused(error) if isinstance(each, Asked) else each for each in read], []
    for intent in intents:
        parts.audit.result(intent, 200)
    numbered = ({"line": before + n, **each} for n, each in enumerate(said, 1) if each)
    return [json.dumps(each) + "\n" for each in numbered]


async def _done(read: list[Asked | dict[str, Any]], caller: Caller, parts: AppContext) -> list[dict[str, Any]]:
    asked = [each for each in read if isinstance(each, Asked)]
    try:
        made = iter(await parts.registrar.upsert_all([(each.job, each.actor) for each in asked]))
        return [_said(next(made), caller) if isinstance(each, Asked) else each for each in read]
    except KronError:  # one of them cannot be stored: define them one by one to find it
        return [await _alone(each, caller, parts) if isinstance(each, Asked) else each for each in read]


async def _intend(asked: list[Asked], asking: Asking) -> list[int]:
    """Record in the audit log which schedules are about to be defined, and their targets."""
    if not asking.parts.audit.path:
        return []
    jobs = [{"id": asking.caller.name(each.job.identity), "target": each.job.target} for each in asked]
    some = [jobs[n : n + ON_A_LINE] for n in range(0, len(jobs), ON_A_LINE)]
    return [await asking.parts.audit.intend(asking.facts, each) for each in some]


def _read_all(lines: list[bytes], caller: Caller, parts: AppContext, now: int) -> list[Asked | dict[str, Any]]:
    return [_read(line, caller, parts, now) for line in lines]


def _read(line: bytes, caller: Caller, parts: AppContext, now: int) -> Asked | dict[str, Any]:
    """Return the parsed line, or its answer: a problem, or nothing for an empty line."""
    if not line.strip():
        return {}
    try:
        asked = Line.model_validate_json(line)
        definition = Definition(**asked.model_dump(exclude={"id"}))
        job, _ = job_of(definition, caller.identity(asked.id), parts.config, now // 1000)
    except ValidationError as error:
        return {"status": 422, "problem": invalid([dict(each) for each in error.errors()])}
    except KronError as error:
        return _refused(error)
    return Asked(job, caller.asks(asked.note))


def _is_one_of(asked: Asked | dict[str, Any], names: frozenset[str]) -> bool:
    return isinstance(asked, Asked) and asked.job.identity in names


async def _alone(asked: Asked, caller: Caller, parts: AppContext) -> dict[str, Any]:
    try:
        return _said(await parts.registrar.upsert(asked.job, asked.actor), caller)
    except KronError as error:
        return _refused(error)


def _said(case: ScheduleState, caller: Caller) -> dict[str, Any]:
    name = caller.name(case.identity)
    return {"status": 200, "id": name, "revision": case.revision, "next_run_at": next_run_at(case)}


def _refused(error: KronError) -> dict[str, Any]:
    said = problem(error)
    return {"status": said["status"], "problem": said}
