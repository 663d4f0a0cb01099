"""Schedules as resources: define, read, list, change, delete. The ETag of a schedule is its revision."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import accumulate
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Header, Query, Response
from pydantic import StringConstraints, ValidationError

from kron.apps.service.auth.caller import Caller, Reader, Writer
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import compute, json_response
from kron.apps.service.context import AppContext, Used
from kron.apps.service.problem import error_responses
from kron.apps.service.schemas import responses
from kron.apps.service.schemas.definition import job_of, stated
from kron.apps.service.schemas.requests import NO_NUL, Definition, Id, Patch
from kron.apps.service.schemas.views import schedule_view
from kron.errors import AlreadyExists, Contended, InvalidInput, RevisionConflict
from kron.language.clock_rule import without_clock_rule
from kron.language.dialect import split_name
from kron.language.fault import Fault
from kron.language.source import names_zone
from kron.rules.state import ScheduleState

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["schedules"])

IfMatch = Annotated[str | None, Header(max_length=50)]
Key = Annotated[str | None, Header(max_length=200, min_length=1)]
Token = Annotated[str, Query(max_length=200, pattern=NO_NUL)]
MAX_WRITE_ATTEMPTS = 20  # attempts against concurrent writers
Limit = Annotated[int, Query(ge=1, le=1000)]
Label = Annotated[str, StringConstraints(max_length=400, pattern=NO_NUL)]
Selectors = Annotated[Sequence[Label], Query(max_length=8, description="labels as key=value")]
MAX_PAGE_BYTES = 1024 * 1024  # bytes of the payloads of a page, if it has more than one schedule


@router.get("/schedules", response_model=responses.Page)
async def list_schedules(
    caller: Reader,
    prefix: Token = "",
    paused: bool | None = None,
    deleted: bool = False,
    label: Selectors = (),
    limit: Limit = 100,
    page_token: Token = "",
    parts: AppContext = Used,
) -> Response:
    """List schedules by id, in pages, optionally only those with an id prefix, with labels, or only the paused ones.

    `label=team=billing` selects by a label; several select the schedules that have all of them.
    """
    after = caller.identity(page_token) if page_token else ""
    matches = await parts.registrar.schedules(
        caller.prefix + prefix, paused=paused, deleted=deleted, labels=label, after=after, limit=limit
    )
    states = _bounded(matches)
    token = caller.name(states[-1].identity) if len(states) == limit or len(states) < len(matches) else None
    return await json_response(
        lambda: responses.Page(
            schedules=[schedule_view(state, caller, parts.config) for state in states], next_page_token=token
        )
    )


@router.post("/schedules", status_code=201, responses=error_responses(409, 410, 429))
async def create(
    body: Definition, caller: Writer, response: Response, idempotency_key: Key = None, parts: AppContext = Used
) -> responses.ScheduleView:
    """Define a schedule under a generated id. Requests with the same Idempotency-Key give the same schedule."""
    name = uuid4().hex
    if idempotency_key is not None:
        name = sha256(f"{caller.tenant}\n{idempotency_key}".encode()).hexdigest()[:32]
    return await define(name, body, caller, parts, response, expected=0, idempotent=idempotency_key is not None)


@router.put("/schedules/{schedule_id}", responses=error_responses(429))
async def put(
    schedule_id: Id,
    body: Definition,
    caller: Writer,
    response: Response,
    if_match: IfMatch = None,
    if_none_match: IfMatch = None,
    parts: AppContext = Used,
) -> responses.ScheduleView:
    """Define or redefine a schedule. If-Match requires a revision; `If-None-Match: *` requires that it is new."""
    expected = 0 if if_none_match == "*" else revision_of(if_match)
    if if_match == "*":  # only an existing schedule: it can be changed, but not created
        return await _retry(lambda: _redefine(schedule_id, body, caller, parts, response))
    return await define(schedule_id, body, caller, parts, response, expected=expected)


@router.get("/schedules/{schedule_id}")
async def get(schedule_id: Id, caller: Reader, response: Response, parts: AppContext = Used) -> responses.ScheduleView:
    """Return a schedule."""
    state = await parts.registrar.get(caller.identity(schedule_id))
    response.headers["ETag"] = f'"{state.revision}"'
    return schedule_view(state, caller, parts.config)


@router.patch("/schedules/{schedule_id}", responses=error_responses(429))
async def patch(
    schedule_id: Id,
    body: Patch,
    caller: Writer,
    response: Response,
    if_match: IfMatch = None,
    parts: AppContext = Used,
) -> responses.ScheduleView:
    """Change some fields of a schedule. Without If-Match, the change applies to the current revision."""
    expected = revision_of(if_match)

    async def define_merged() -> responses.ScheduleView:
        state = await parts.registrar.get(caller.identity(schedule_id))
        merged = _merged(stated(state.job, parts.config), body, state.job.schedule.zone.name)
        return await define(schedule_id, merged, caller, parts, response, expected=expected or state.revision)

    return await define_merged() if expected else await _retry(define_merged)


@router.delete("/schedules/{schedule_id}", status_code=204)
async def delete(
    schedule_id: Id,
    caller: Writer,
    if_match: IfMatch = None,
    note: Annotated[str, Query(max_length=1000, pattern=NO_NUL)] = "",
    parts: AppContext = Used,
) -> Response:
    """Delete a schedule. Its history is kept."""
    identity = caller.identity(schedule_id)
    await parts.registrar.delete(identity, caller.actor(note), expected=revision_of(if_match))
    return Response(status_code=204)


def _bounded(states: list[ScheduleState]) -> list[ScheduleState]:
    """Return the first schedules, as many as the size of their payloads allows; at least one."""
    sizes = accumulate(len(state.job.payload or "") for state in states)
    count = sum(size <= MAX_PAGE_BYTES for size in sizes)
    return states[: max(1, count)]


async def _redefine(
    schedule_id: str, definition: Definition, caller: Caller, parts: AppContext, response: Response
) -> responses.ScheduleView:
    """Redefine an existing schedule."""
    (state,) = await parts.store.get([caller.identity(schedule_id)])
    if state is None or state.deleted:
        raise RevisionConflict("REVISION", f"unknown schedule {schedule_id!r}", hint="define it without If-Match")
    return await define(schedule_id, definition, caller, parts, response, expected=state.revision)


async def _retry(attempt: Callable[[], Awaitable[responses.ScheduleView]]) -> responses.ScheduleView:
    """Retry while others change the schedule concurrently, because the caller has named no revision."""
    for n in range(MAX_WRITE_ATTEMPTS):
        try:
            return await attempt()
        except RevisionConflict as error:
            if not error.details.get("revision"):
                raise
        await asyncio.sleep(random.uniform(0, 0.01 * 2 ** min(n, 4)))  # noqa: S311  avoids repeated collisions
    raise Contended("CONTENDED", "the schedule was modified concurrently", hint="retry the request")


async def define(
    schedule_id: str,
    definition: Definition,
    caller: Caller,
    parts: AppContext,
    response: Response | None = None,
    *,
    expected: int | None = None,
    idempotent: bool = False,
) -> responses.ScheduleView:
    """Define a schedule. With `idempotent`, an identical existing schedule counts as success."""
    identity, now = caller.identity(schedule_id), await parts.store.now()
    job, warnings = await compute(job_of, definition, identity, parts.config, now // 1000)
    if idempotent:
        await _check_not_deleted(identity, parts)
    try:
        async with parts.quotas.room(caller, identity):
            state = await parts.registrar.upsert(job, caller.actor(definition.note), expected=expected)
    except RevisionConflict:
        if not idempotent:
            raise
        state = await parts.registrar.get(identity)
        if not state.job.same_definition(job):
            hint = "use a new Idempotency-Key for another schedule"
            raise AlreadyExists("EXISTS", "this Idempotency-Key was used for another definition", hint=hint) from None
    if response is not None:
        response.headers["ETag"] = f'"{state.revision}"'
        response.headers["Location"] = f"/v1/schedules/{schedule_id}"
    return schedule_view(state, caller, parts.config, warnings)


async def _check_not_deleted(identity: str, parts: AppContext) -> None:
    """Reject a late retry of a request whose schedule was deleted since: a retry must not bring it back."""
    (state,) = await parts.store.get([identity])
    if state is not None and state.deleted:
        hint = "use a new Idempotency-Key"
        raise AlreadyExists("GONE", "the schedule of this Idempotency-Key was deleted", hint=hint)


def revision_of(text: str | None) -> int | None:
    """Return the revision of an If-Match header; None for `*` or no header."""
    if text is None or text == "*":
        return None
    number = text.removeprefix('"').removesuffix('"')
    if not (number.isascii() and number.isdigit() and len(number) < 10) or text != f'"{number}"':
        raise InvalidInput("BAD_FIELD", "If-Match is not a revision", hint='use the ETag unchanged, such as "3"')
    return int(number) or -1  # no schedule has revision 0


def _merged(current: dict[str, Any], body: Patch, zone: str) -> Definition:
    """Return the definition with the changes. An omitted field stays, also a time zone that the old text named."""
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    named = split_name(changes.get("schedule") or "")
    if named and "dialect" not in changes:
        current = {**current, "dialect": named.dialect}
    dialect = changes.get("dialect") or current["dialect"]
    if changes.get("schedule") and current["timezone"] is None and dialect != "fuzzy":
        text = named.text if named else changes["schedule"]
        with suppress(Fault):  # an invalid text is reported when it is parsed
            current = {**current, "timezone": None if names_zone(text, dialect) else zone}
    if "dst" in changes and "schedule" not in changes:
        current = {**current, "schedule": without_clock_rule(current["schedule"], current["dialect"])}
    if "target" in changes:
        current = {**current, "workflow_id": None, "version": None, "user_id": None}
    if "workflow_id" in changes:
        current = {**current, "target": None, "webhook": None}
    merged = {name: value for name, value in {**current, **changes}.items() if value is not None}
    try:
        return Definition(**merged)
    except ValidationError as error:
        place = error.errors()[0]
        raise InvalidInput("BAD_FIELD", f"{'/'.join(map(str, place['loc']))}: {place['msg']}", hint="") from None
