"""Calendar of the upcoming runs of a tenant, for calendar applications."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from kron.apps.ics import MEDIA
from kron.apps.run_calendar import MAX_SCHEDULES, run_calendar
from kron.apps.service.auth.caller import Reader
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import compute
from kron.apps.service.context import AppContext, Used
from kron.apps.service.routes.schedules import Token

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

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
    text = await compute(run_calendar, states, caller.name, now, has_more=has_more)
    return Response(text, media_type=MEDIA, headers={"Cache-Control": "no-store"})
