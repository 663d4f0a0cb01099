"""Many schedules in one request: a line of JSON each, answered by a line each, as they come."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from kron.apps.service.audit import facts_of
from kron.apps.service.bodies import pieces
from kron.apps.service.caller import Caller, Writer
from kron.apps.service.compute import compute
from kron.apps.service.definition import job_of
from kron.apps.service.guard import Guarded
from kron.apps.service.models import Definition, Line
from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import invalid, problem
from kron.apps.service.shown import next_run_at
from kron.core.case import Case
from kron.core.job import Job
from kron.errors import KronError
from kron.pause import Asker

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["schedules"])

LONGEST = 64 * 1024
TOGETHER = 500  # lines that are defined at once
ON_A_LINE = 50  # of them that share a line of the audit log
MEDIA = "application/x-ndjson"


class Asked(NamedTuple):
    """What a line asks for."""

    job: Job
    asker: Asker


class Asking(NamedTuple):
    """Who asks, of whom, and what the audit log says of it."""

    caller: Caller
    parts: Parts
    facts: dict[str, Any]


class Conversation(StreamingResponse):
    """An answer that is given while the question is still coming: it must not listen for the end of it by itself."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        await self.stream_response(send)


@router.post(
    "/schedules:bulk",
    response_class=StreamingResponse,
    responses={200: {"content": {MEDIA: {"schema": {"type": "string"}}}}},
    openapi_extra={"requestBody": {"content": {MEDIA: {"schema": {"type": "string"}}}}},
)
async def bulk(request: Request, caller: Writer, parts: Parts = Used) -> StreamingResponse:
    """Define a schedule for each line. The answer has a line for each, in order: its revision, or its problem."""
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
    """The lines of a stream. One that is too long is cut, and so is no JSON."""
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
    except KronError as error:  # nothing of this is done
        said, intents = [_refused(error) if isinstance(each, Asked) else each for each in read], []
    for intent in intents:
        parts.audit.result(intent, 200)
    numbered = ({"line": before + n, **each} for n, each in enumerate(said, 1) if each)
    return [json.dumps(each) + "\n" for each in numbered]


async def _done(read: list[Asked | dict[str, Any]], caller: Caller, parts: Parts) -> list[dict[str, Any]]:
    asked = [each for each in read if isinstance(each, Asked)]
    try:
        made = iter(await parts.registrar.upsert_all([(each.job, each.asker) for each in asked]))
        return [_said(next(made), caller) if isinstance(each, Asked) else each for each in read]
    except KronError:  # one of them cannot be kept: which?
        return [await _alone(each, caller, parts) if isinstance(each, Asked) else each for each in read]


async def _intend(asked: list[Asked], asking: Asking) -> list[int]:
    """Write down which schedules are about to be defined, and what they call."""
    if not asking.parts.audit.path:
        return []
    jobs = [{"id": asking.caller.name(each.job.identity), "target": each.job.target} for each in asked]
    some = [jobs[n : n + ON_A_LINE] for n in range(0, len(jobs), ON_A_LINE)]
    return [await asking.parts.audit.intend(asking.facts, each) for each in some]


def _read_all(lines: list[bytes], caller: Caller, parts: Parts, now: int) -> list[Asked | dict[str, Any]]:
    return [_read(line, caller, parts, now) for line in lines]


def _read(line: bytes, caller: Caller, parts: Parts, now: int) -> Asked | dict[str, Any]:
    """What a line asks for, or the answer to it: a problem, or nothing for an empty one."""
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


async def _alone(asked: Asked, caller: Caller, parts: Parts) -> dict[str, Any]:
    try:
        return _said(await parts.registrar.upsert(asked.job, asked.asker), caller)
    except KronError as error:
        return _refused(error)


def _said(case: Case, caller: Caller) -> dict[str, Any]:
    name = caller.name(case.identity)
    return {"status": 200, "id": name, "revision": case.revision, "next_run_at": next_run_at(case)}


def _refused(error: KronError) -> dict[str, Any]:
    said = problem(error)
    return {"status": said["status"], "problem": said}
