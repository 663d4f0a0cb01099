"""Listening: what happens to the schedules of a tenant, as it happens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from kron.apps.service.caller import Reader
from kron.apps.service.feed import Feed
from kron.apps.service.guard import Guarded
from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import answer, may
from kron.errors import KronError

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

MEDIA = "text/event-stream"
MOST_LISTENERS = 20  # of one tenant, at one process
Seconds = Annotated[int, Query(ge=0, le=3600, description="how long to listen; then come again, with Last-Event-ID")]
LastEvent = Annotated[str, Header(max_length=40)]
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {MEDIA: {"schema": {"type": "string"}}}}
}


class Listening(StreamingResponse):
    """A stream of events. It is counted from its first byte to its last, so that no more are open than may be."""

    def __init__(self, feed: Feed, prefix: str, last: str, seconds: int) -> None:
        self.feed, self.prefix = feed, prefix
        told = feed.listen(prefix, last, seconds)
        super().__init__(told, media_type=MEDIA, headers={"Cache-Control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if self.feed.listeners[self.prefix] >= MOST_LISTENERS:
            message, details = f"{MOST_LISTENERS} listen already", {"retry_after": 10}
            await answer(KronError("QUOTA", message, hint="close one", details=details))(scope, receive, send)
            return
        self.feed.listeners[self.prefix] += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.feed.listeners[self.prefix] -= 1


@router.get("/events", response_class=StreamingResponse, responses={**ANSWER, **may(429)})
async def events(
    caller: Reader, seconds: Seconds = 300, last_event_id: LastEvent = "", parts: Parts = Used
) -> StreamingResponse:
    """What the worker of this process does, from after the event of Last-Event-ID on; `hole` if some are gone."""
    return Listening(parts.feed, caller.prefix, last_event_id, seconds)
