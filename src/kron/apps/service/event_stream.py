"""Event stream: the events of all processes that use the store, as server-sent events for one tenant."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from kron.engine.clock import Timer
from kron.engine.event_mirror import EventMirror
from kron.engine.event_ring import RingEvent
from kron.timing.zone import rfc3339, rfc3339_ms

KEEPALIVE_SECONDS = 15.0  # seconds without an event, after which a comment keeps the connection open
MAX_ID_DIGITS = 16


class Feed:
    """Streams the events of a mirror to listeners."""

    def __init__(self, mirror: EventMirror, timer: Timer) -> None:
        self.mirror, self.timer = mirror, timer
        self.listeners: Counter[str] = Counter()

    async def listen(self, prefix: str, last: str, seconds: float) -> AsyncIterator[str]:
        """Yield the events of schedules whose identities start with `prefix`.

        Args:
            prefix: Start of the identities.
            last: Event id to continue after; empty to start now.
            seconds: How long to listen.
        """
        position, is_lost = self._start_position(last)
        end = self.timer.monotonic() + seconds
        while True:
            page = await self.mirror.page(position)
            position = page.position
            if is_lost or page.lost:
                yield f"id: {position - len(page.events)}\nevent: events_lost\ndata: {{}}\n\n"
            is_lost = False
            own_events = [(number, event) for number, event in page.events if event.identity.startswith(prefix)]
            if own_events:
                yield "".join(f"id: {number}\n{_text(event, prefix)}" for number, event in own_events)
            remaining = end - self.timer.monotonic()
            if page.events and (remaining > 0 or position < self.mirror.position):
                continue
            if self.mirror.closed or remaining <= 0:
                return
            if not await self.mirror.wait(position, min(remaining, KEEPALIVE_SECONDS)):
                yield ":\n\n"

    def _start_position(self, last: str) -> tuple[int, bool]:
        """Return the start position of a listener, and whether events are missing because `last` is not known."""
        if last.isascii() and last.isdigit() and len(last) <= MAX_ID_DIGITS and int(last) <= self.mirror.position:
            return int(last), False
        return self.mirror.position, bool(last)


def _text(event: RingEvent, prefix: str) -> str:
    return f"event: {event.name}\ndata: {json.dumps(_event_body(event, prefix))}\n\n"


def _event_body(event: RingEvent, prefix: str) -> dict[str, Any]:
    """Return an event with the field names of the HTTP API."""
    facts = event.facts
    body = {"at": rfc3339_ms(event.at), "schedule_id": event.identity.removeprefix(prefix)}
    if "key" in facts:
        body |= {"key": facts["key"], "period": rfc3339(facts["nominal"]), "state": facts["state"]}
    names = {"outcome": "outcome", "reason": "reason", "attempt": "attempt", "trigger": "trigger", "result": "result"}
    return body | {name: facts[fact] for fact, name in names.items() if facts.get(fact) is not None}
