"""Many schedules in one request: a line of JSON each, answered by a line each, as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from kron.apps.service.caller import Caller, Writer
from kron.apps.service.models import Definition, Line
from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import invalid, problem
from kron.apps.service.schedules import define
from kron.errors import KronError

router = APIRouter(prefix="/v1", tags=["schedules"])

LONGEST = 64 * 1024
TOGETHER = 100  # lines that are defined at once
MEDIA = "application/x-ndjson"


class Conversation(StreamingResponse):
    """An answer that is given while the question is still coming: it must not listen for the end of it by itself."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        await self.stream_response(send)


@router.post("/schedules:bulk", response_class=StreamingResponse)
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
    said = await asyncio.gather(*(_one(line, caller, parts) for line in lines))
    numbered = ({"line": before + n, **each} for n, each in enumerate(said, 1) if each)
    return [json.dumps(each) + "\n" for each in numbered]


async def _one(line: bytes, caller: Caller, parts: Parts) -> dict[str, Any]:
    if not line.strip():
        return {}
    try:
        asked = Line.model_validate_json(line)
        definition = Definition(**asked.model_dump(exclude={"id"}))
        made = await define(asked.id, definition, caller, parts)
    except ValidationError as error:
        return {"status": 422, "problem": invalid([dict(each) for each in error.errors()])}
    except KronError as error:
        said = problem(error)
        return {"status": said["status"], "problem": said}
    return {"status": 200, "id": made.id, "revision": made.revision, "next_run_at": made.next_run_at}
