"""Event stream of a tenant's schedules."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from kron.apps.service.auth.caller import Reader
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.context import AppContext, Used
from kron.apps.service.event_stream import Feed
from kron.apps.service.problem import error_response, error_responses
from kron.errors import QuotaExceeded, StoreUnavailable

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

MEDIA = "text/event-stream"
MAX_LISTENERS = 20  # concurrent streams per tenant and process
Seconds = Annotated[int, Query(ge=0, le=3600, description="duration of the stream; then reconnect with Last-Event-ID")]
LastEvent = Annotated[str, Header(max_length=40)]
STREAM_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {MEDIA: {"schema": {"type": "string"}}}}
}


class Listening(StreamingResponse):
    """Event stream. It counts as open from its first byte to its last, which enforces the limit on open streams."""

    def __init__(self, feed: Feed, prefix: str, last: str, seconds: int) -> None:
        self.feed, self.prefix = feed, prefix
        events = feed.listen(prefix, last, seconds)
        super().__init__(events, media_type=MEDIA, headers={"Cache-Control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if self.feed.listeners[self.prefix] >= MAX_LISTENERS:
            message, details = f"limit of {MAX_LISTENERS} open event streams reached", {"retry_after": 10}
            await error_response(QuotaExceeded("QUOTA", message, hint="close a stream", details=details))(
                scope, receive, send
            )
            return
        self.feed.listeners[self.prefix] += 1
        try:
            async with self.feed.mirror.listening():
                await super().__call__(scope, receive, send)
        except TimeoutError:
            error = StoreUnavailable("STORE_TIMEOUT", "the store did not answer in time", hint="try again")
            await error_response(error)(scope, receive, send)
        finally:
            self.feed.listeners[self.prefix] -= 1


@router.get("/events", response_class=StreamingResponse, responses={**STREAM_RESPONSE, **error_responses(429)})
async def events(
    caller: Reader, seconds: Seconds = 300, last_event_id: LastEvent = "", parts: AppContext = Used
) -> StreamingResponse:
    """Stream what all workers do, from after Last-Event-ID.

    A worker of another process begins to tell within 2 seconds. `events_lost` says that older events are gone.
    """
    return Listening(parts.feed, caller.prefix, last_event_id, seconds)
