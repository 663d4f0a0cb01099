"""Listening: what happens to the schedules of a tenant, as it happens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from kron.apps.service.caller import Reader
from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import may
from kron.errors import KronError

router = APIRouter(prefix="/v1", tags=["asking"])

MEDIA = "text/event-stream"
MOST_LISTENERS = 20  # of one tenant, at one process
Seconds = Annotated[int, Query(ge=0, le=3600, description="how long to listen; then come again, with Last-Event-ID")]
LastEvent = Annotated[str, Header(max_length=40)]
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {MEDIA: {"schema": {"type": "string"}}}}
}


@router.get("/events", response_class=StreamingResponse, responses={**ANSWER, **may(429)})
async def events(
    caller: Reader, seconds: Seconds = 300, last_event_id: LastEvent = "", parts: Parts = Used
) -> StreamingResponse:
    """What the worker of this process does, from after the event of Last-Event-ID on; `hole` if some are gone."""
    if parts.feed.listeners[caller.prefix] >= MOST_LISTENERS:
        raise KronError("QUOTA", f"{MOST_LISTENERS} listen already", hint="close one", details={"retry_after": 10})
    told = parts.feed.listen(caller.prefix, last_event_id, seconds)
    return StreamingResponse(told, media_type=MEDIA, headers={"Cache-Control": "no-store"})
