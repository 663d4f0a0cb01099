"""Stream: tells an open page that something which it shows has changed. The page then loads itself again.

A server of ours keeps a stream open until the session of its viewer ends. Inside an application, whose server would
wait for open streams when it stops, behind a bridge, and if too many streams are open, the page asks every second
instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from kron.apps.dashboard.open_streams import MAX_OF_ADDRESS, MAX_OF_PERSON, OpenStreams
from kron.apps.dashboard.page_turns import PageTurns, message_delay
from kron.apps.dashboard.view import View
from kron.engine.clock import SystemClock
from kron.engine.event_mirror import EventMirror
from kron.errors import InvalidSetting, QuotaExceeded

CHECK_SECONDS = 0.5  # between two looks whether the process stops
KEEPALIVE_SECONDS = 10.0
COMMENT = ":\n\n"  # a message that says nothing
MAX_SECONDS = 3_600.0
MAX_STREAMS = 200  # in one process
MAX_POSITION_DIGITS = 16


async def changes(view: View) -> Response:
    """Return whether something has changed after a position of the event ring, and the present position."""
    mirror, query = _mirror(view), view.request.query_params
    mirror.keep()
    position, identity = _position(query.get("after", "")), _identity(view)
    if position is None or not mirror.is_current or not mirror.start <= position <= mirror.position:
        has_changed = position is not None and mirror.is_current  # events are lost, or the mirror began later
        return JSONResponse({"position": mirror.position if mirror.is_current else "", "changed": has_changed})
    page = await mirror.page(position)
    has_changed = page.lost or any(is_shown(event.identity, identity, view.prefix) for _, event in page.events)
    return JSONResponse({"position": page.position, "changed": has_changed})


async def stream(view: View) -> Response:
    """Return the stream of a page: of one schedule, or of all schedules of the tenant.

    Raises:
        InvalidSetting: This dashboard has no streams.
        QuotaExceeded: Too many pages are open, in all or of this viewer.
    """
    mirror = _mirror(view)
    if not view.context.has_streams:
        raise InvalidSetting("MISSING_PART", "this dashboard has no stream", hint="ask for its changes")
    if mirror.listener_count >= MAX_STREAMS:
        raise QuotaExceeded("QUOTA", f"{MAX_STREAMS} pages are open", hint="close a page")
    person = _person(view)
    view.context.streams.check(person, MAX_OF_PERSON if view.context.has_login else MAX_OF_ADDRESS)

    async def is_allowed() -> bool:
        return await view.context.access(view.request) is not None

    position = _position(view.request.query_params.get("after", ""))
    context = view.context
    return PageStream(
        mirror, position, _identity(view), view.prefix, context.streams, context.turns, person, is_allowed
    )


def is_shown(identity: str, shown: str, prefix: str) -> bool:
    """Return whether a page shows a schedule: the page of one schedule, or one of all schedules of a tenant."""
    return identity == shown if shown else identity.startswith(prefix)


def _position(text: str) -> int | None:
    """Return the position of the event ring at which a page was read; None if it is not known."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_POSITION_DIGITS else None


def _mirror(view: View) -> EventMirror:
    if view.context.mirror is None:
        raise InvalidSetting("MISSING_PART", "this dashboard is not told of changes", hint="load the page again")
    return view.context.mirror


def _person(view: View) -> str:
    """Return whose streams are counted together: those of a person, or without a login of a client address."""
    if view.context.has_login and view.viewer is not None:
        return view.viewer.name
    return view.request.client.host if view.request.client else ""


def _identity(view: View) -> str:
    name = view.request.query_params.get("schedule", "")
    return view.identity(name) if name else ""


class PageStream(StreamingResponse):
    """Server-sent events for one page. It begins when events can arrive.

    Attributes:
        mirror: Where the events come from.
        start: Position of the event ring at which the page was read; None: it is told of events from now on.
        identity: Schedule that the page shows; empty: all of the tenant.
        prefix: Prefix of the identities of the tenant.
        streams: Counts this stream.
        turns: Says when the page can be told of another change.
        person: Whose stream it is.
        is_allowed: Says whether the session of the viewer still holds.
    """

    def __init__(
        self,
        mirror: EventMirror,
        start: int | None,
        identity: str,
        prefix: str,
        streams: OpenStreams,
        turns: PageTurns,
        person: str,
        is_allowed: Callable[[], Awaitable[bool]],
    ) -> None:
        self.mirror, self.start, self.identity, self.prefix = mirror, start, identity, prefix
        self.streams, self.turns, self.person, self.is_allowed = streams, turns, person, is_allowed
        super().__init__(self._messages(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        try:
            with self.streams.opened(self.person):
                async with self.mirror.listening():
                    await super().__call__(scope, receive, send)
        except TimeoutError:
            await Response("the store does not answer", 503)(scope, receive, send)

    async def _messages(self) -> AsyncIterator[str]:
        """Yield a message whenever something has changed, and rest after it: the longer, the more pages are open."""
        timer, present = self.mirror.timer, self.mirror.position
        position = present if self.start is None else min(self.start, present)
        end = timer.monotonic() + MAX_SECONDS
        yield "event: live\ndata:\n\n"
        while timer.monotonic() < end and not self.mirror.closed:
            has_changed = await self.mirror.wait(position, KEEPALIVE_SECONDS)
            if not await self.is_allowed():
                return
            if not has_changed:
                yield COMMENT
                continue
            await timer.sleep(message_delay(self.mirror.listener_count, SystemClock().now()))
            page = await self.mirror.page(position)
            position = page.position
            if page.lost or any(is_shown(event.identity, self.identity, self.prefix) for _, event in page.events):
                yield "event: changed\ndata:\n\n"
                async for comment in self._rest():
                    yield comment

    async def _rest(self) -> AsyncIterator[str]:
        """Wait for the next turn of the page, with comments that keep the connection alive."""
        timer = self.mirror.timer
        written = timer.monotonic()
        end = timer.monotonic() + self.turns.rest(self.mirror.listener_count, SystemClock().now())
        while (left := end - timer.monotonic()) > 0 and not self.mirror.closed:
            await asyncio.sleep(min(left, CHECK_SECONDS))
            if timer.monotonic() - written >= KEEPALIVE_SECONDS:
                written = timer.monotonic()
                yield COMMENT
