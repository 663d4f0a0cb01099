"""Bulk upsert: one JSON line per schedule, answered with one line each while the request is still being read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from kron.apps.record_fields import next_run_at
from kron.apps.service.auth.audit import facts_of
from kron.apps.service.auth.caller import Caller, Writer
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.bodies import chunks
from kron.apps.service.bounds import MAX_DEFINITION_BYTES
from kron.apps.service.compute import compute
from kron.apps.service.context import AppContext, Used
from kron.apps.service.problem import invalid, problem
from kron.apps.service.schemas.definition import job_of
from kron.apps.service.schemas.requests import Definition, Line
from kron.errors import KronError
from kron.rules.pause import Actor
from kron.rules.state import ScheduleState
from kron.timing.job import Job

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["schedules"])

MAX_LINE_BYTES = MAX_DEFINITION_BYTES
BATCH_SIZE = 500  # lines that are defined in one write
BATCH_BYTES = 2 * 1024 * 1024  # bytes after which a batch is written, whatever its number of lines
SCHEDULES_PER_AUDIT_LINE = 50  # schedules that share a line of the audit log
MEDIA = "application/x-ndjson"


class ParsedLine(NamedTuple):
    """Parsed line of a request."""

    job: Job
    actor: Actor


class BulkRequest(NamedTuple):
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
    return Conversation(_responses(chunks(request.stream()), BulkRequest(caller, parts, facts)), media_type=MEDIA)


async def _responses(stream: AsyncIterator[bytes], bulk_request: BulkRequest) -> AsyncIterator[str]:
    number, size, pending_lines = 0, 0, list[bytes]()
    async for line in _lines(stream):
        pending_lines.append(line)
        size += len(line)
        if len(pending_lines) == BATCH_SIZE or size >= BATCH_BYTES:
            for response in await _process_batch(pending_lines, number, bulk_request):
                yield response
            number, size, pending_lines = number + len(pending_lines), 0, []
    for response in await _process_batch(pending_lines, number, bulk_request):
        yield response


async def _lines(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a stream. A line that is too long is truncated, which makes it invalid JSON."""
    rest = b""
    async for chunk in stream:
        *complete_lines, rest = (rest + chunk).split(b"\n")
        for line in complete_lines:
            yield line[: MAX_LINE_BYTES + 1]
        rest = rest[: MAX_LINE_BYTES + 1]
    if rest:
        yield rest


async def _process_batch(lines: list[bytes], before: int, bulk_request: BulkRequest) -> list[str]:
    caller, parts, _ = bulk_request
    now = await parts.store.now()
    entries = await compute(_read_all, lines, caller, parts, now)
    try:
        async with parts.quotas.room_for(
            caller, [entry.job.identity for entry in entries if isinstance(entry, ParsedLine)]
        ) as over_quota:
            entries = [_failure(parts.quotas.full()) if _is_one_of(entry, over_quota) else entry for entry in entries]
            intents = await _record_intents([entry for entry in entries if isinstance(entry, ParsedLine)], bulk_request)
            results = await _define_all(entries, caller, parts)
    except KronError as error:  # none of these lines is defined
        results, intents = [_failure(error) if isinstance(entry, ParsedLine) else entry for entry in entries], []
    for intent in intents:
        parts.audit.result(intent, 200)
    numbered = ({"line": before + n, **entry} for n, entry in enumerate(results, 1) if entry)
    return [json.dumps(entry) + "\n" for entry in numbered]


async def _define_all(
    entries: list[ParsedLine | dict[str, Any]], caller: Caller, parts: AppContext
) -> list[dict[str, Any]]:
    parsed_lines = [entry for entry in entries if isinstance(entry, ParsedLine)]
    try:
        states = iter(await parts.registrar.upsert_all([(entry.job, entry.actor) for entry in parsed_lines]))
        return [_success(next(states), caller) if isinstance(entry, ParsedLine) else entry for entry in entries]
    except KronError:  # one of them cannot be stored: define them one by one to find it
        return [
            await _define_one(entry, caller, parts) if isinstance(entry, ParsedLine) else entry for entry in entries
        ]


async def _record_intents(parsed_lines: list[ParsedLine], bulk_request: BulkRequest) -> list[int]:
    """Record in the audit log which schedules are about to be defined, and their targets."""
    if not bulk_request.parts.audit.path:
        return []
    jobs = [{"id": bulk_request.caller.name(line.job.identity), "target": line.job.target} for line in parsed_lines]
    groups = [jobs[n : n + SCHEDULES_PER_AUDIT_LINE] for n in range(0, len(jobs), SCHEDULES_PER_AUDIT_LINE)]
    return [await bulk_request.parts.audit.intend(bulk_request.facts, group) for group in groups]


def _read_all(lines: list[bytes], caller: Caller, parts: AppContext, now: int) -> list[ParsedLine | dict[str, Any]]:
    return [_read(line, caller, parts, now) for line in lines]


def _read(line: bytes, caller: Caller, parts: AppContext, now: int) -> ParsedLine | dict[str, Any]:
    """Return the parsed line, or its answer: a problem, or nothing for an empty line."""
    if not line.strip():
        return {}
    try:
        fields = Line.model_validate_json(line)
        definition = Definition(**fields.model_dump(exclude={"id"}, exclude_unset=True))
        job, _ = job_of(definition, caller.identity(fields.id), parts.config, now // 1000)
    except ValidationError as error:
        return {"status": 422, "problem": invalid([dict(detail) for detail in error.errors()])}
    except KronError as error:
        return _failure(error)
    return ParsedLine(job, caller.actor(fields.note))


def _is_one_of(entry: ParsedLine | dict[str, Any], names: frozenset[str]) -> bool:
    return isinstance(entry, ParsedLine) and entry.job.identity in names


async def _define_one(parsed_line: ParsedLine, caller: Caller, parts: AppContext) -> dict[str, Any]:
    try:
        return _success(await parts.registrar.upsert(parsed_line.job, parsed_line.actor), caller)
    except KronError as error:
        return _failure(error)


def _success(state: ScheduleState, caller: Caller) -> dict[str, Any]:
    name = caller.name(state.identity)
    return {"status": 200, "id": name, "revision": state.revision, "next_run_at": next_run_at(state)}


def _failure(error: KronError) -> dict[str, Any]:
    body = problem(error)
    return {"status": body["status"], "problem": body}
