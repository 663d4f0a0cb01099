"""Many schedules in one request: a line of JSON each, answered by a line each, as they come."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from kron.apps.service.caller import Caller, Writer
from kron.apps.service.definition import job_of
from kron.apps.service.models import Definition, Line
from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import invalid, problem
from kron.apps.service.shown import next_run_at
from kron.core.case import Case
from kron.core.job import Job
from kron.errors import KronError
from kron.pause import Asker

router = APIRouter(prefix="/v1", tags=["schedules"])

LONGEST = 64 * 1024
TOGETHER = 500  # lines that are defined at once
MEDIA = "application/x-ndjson"


class Asked(NamedTuple):
    """What a line asks for."""

    job: Job
    asker: Asker


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
    return Conversation(_answers(request.stream(), caller, parts), media_type=MEDIA)


async def _answers(stream: AsyncIterator[bytes], caller: Caller, parts: Parts) -> AsyncIterator[str]:
    number, waiting = 0, list[bytes]()
    async for line in _lines(stream):
        waiting.append(line)
        if len(waiting) == TOGETHER:
            for said in await _all(waiting, number, caller, parts):
                yield said
            number, waiting = number + len(waiting), []
    for said in await _all(waiting, number, caller, parts):
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


async def _all(lines: list[bytes], before: int, caller: Caller, parts: Parts) -> list[str]:
    now = await parts.store.now()
    read = [await _read(line, caller, parts, now) for line in lines]
    asked = [each for each in read if isinstance(each, Asked)]
    try:
        made = iter(await parts.registrar.upsert_all([(each.job, each.asker) for each in asked]))
        said = [_said(next(made), caller, now) if isinstance(each, Asked) else each for each in read]
    except KronError:  # one of them cannot be kept: which?
        said = [await _alone(each, caller, parts, now) if isinstance(each, Asked) else each for each in read]
    numbered = ({"line": before + n, **each} for n, each in enumerate(said, 1) if each)
    return [json.dumps(each) + "\n" for each in numbered]


async def _read(line: bytes, caller: Caller, parts: Parts, now: int) -> Asked | dict[str, Any]:
    """What a line asks for, or the answer to it: a problem, or nothing for an empty one."""
    if not line.strip():
        return {}
    try:
        asked = Line.model_validate_json(line)
        identity = caller.identity(asked.id)
        definition = Definition(**asked.model_dump(exclude={"id"}))
        job, _ = job_of(definition, identity, parts.config, now // 1000)
        await parts.quotas.admit(caller, identity)
    except ValidationError as error:
        return {"status": 422, "problem": invalid([dict(each) for each in error.errors()])}
    except KronError as error:
        return _refused(error)
    return Asked(job, caller.asks(asked.note))


async def _alone(asked: Asked, caller: Caller, parts: Parts, now: int) -> dict[str, Any]:
    try:
        return _said(await parts.registrar.upsert(asked.job, asked.asker), caller, now)
    except KronError as error:
        return _refused(error)


def _said(case: Case, caller: Caller, now: int) -> dict[str, Any]:
    name = caller.name(case.identity)
    return {"status": 200, "id": name, "revision": case.revision, "next_run_at": next_run_at(case, now)}


def _refused(error: KronError) -> dict[str, Any]:
    said = problem(error)
    return {"status": said["status"], "problem": said}
