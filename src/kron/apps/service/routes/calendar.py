"""Calendar of the upcoming runs of a tenant, for calendar applications."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from kron.apps.ics import MAX_EVENTS, MEDIA, CalendarEvent, write_calendar
from kron.apps.service.agenda import make_agenda
from kron.apps.service.auth.caller import Caller, Reader
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import compute
from kron.apps.service.context import AppContext, Used
from kron.apps.service.routes.schedules import Token
from kron.rules.state import ScheduleState
from kron.timing.key import key_of

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

MAX_SCHEDULES = 1_000  # schedules whose upcoming runs are searched: the first ones by id
DAYS = 30
DAY_MS = 86_400_000
CALENDAR_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"description": "iCalendar (RFC 5545)", "content": {MEDIA: {"schema": {"type": "string"}}}}
}


@router.get("/calendar.ics", response_class=Response, responses=CALENDAR_RESPONSE)
async def calendar(caller: Reader, prefix: Token = "", parts: AppContext = Used) -> Response:
    """Return the upcoming runs of the next 30 days as a calendar, optionally only of the ids with a prefix.

    There is one event for each run, and no recurrence rule. The UID of an event is the idempotency key of its run. The
    calendar has the earliest 1,000 runs of the first 1,000 schedules by id. `X-KRON-TRUNCATED` lists the bounds that
    left out runs: `events`, `schedules`, or `search` if a search for runs reached its limit.
    """
    states = await parts.registrar.schedules(caller.prefix + prefix, limit=MAX_SCHEDULES)
    has_more = len(states) == MAX_SCHEDULES and bool(
        await parts.store.identities(states[-1].identity, 1, caller.prefix + prefix)
    )
    now = await parts.store.now()
    text = await compute(_calendar_text, states, caller, now, has_more=has_more)
    return Response(text, media_type=MEDIA, headers={"Cache-Control": "no-store"})


def _calendar_text(states: list[ScheduleState], caller: Caller, now: int, *, has_more: bool) -> str:
    agenda = make_agenda(states, now, now + DAYS * DAY_MS, MAX_EVENTS)
    events = [
        CalendarEvent(run.at // 1000, key_of(run.identity, run.nominal), caller.name(run.identity))
        for run in agenda.runs
    ]
    bounds = {"events": agenda.has_more, "schedules": has_more, "search": not agenda.complete}
    return write_calendar(events, now // 1000, [name for name, is_reached in bounds.items() if is_reached])
