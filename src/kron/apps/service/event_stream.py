"""Event feed: events of this process's worker as server-sent events.

All listeners share one ring buffer, and each has a position in it. Nothing is queued per listener: one that is
slower than the buffer receives a `events_lost` event and has to read the runs instead.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import Counter, deque
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from kron.engine.clock import Timer
from kron.engine.events import Event
from kron.timing.zone import rfc3339, rfc3339_ms

BUFFER_SIZE = 10_000  # events in the buffer
MAX_EVENTS_PER_TURN = 500  # maximum events per listener before other listeners get their turn
NO_WORKER_EVENT = 'event: elsewhere\ndata: {"reason": "this process has no worker; read the runs instead"}\n\n'
KEEPALIVE_SECONDS = 15.0  # seconds without an event, after which a comment keeps the connection open


class FeedEvent(NamedTuple):
    """A numbered event about a schedule."""

    number: int
    event: Event


class Feed:
    """Sink that buffers events and streams them to listeners."""

    def __init__(self, timer: Timer, buffer_size: int = BUFFER_SIZE, *, has_worker: bool = True) -> None:
        self.has_worker = has_worker  # whether a worker of this process sends events
        self.timer, self.buffer, self.number = timer, deque[FeedEvent](maxlen=buffer_size), 0
        # The token distinguishes the event numbers of this process from those before a restart.
        self.process_token = secrets.token_hex(4)
        self.changed, self.closed = asyncio.Event(), False
        self.listeners: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        """Buffer an event, if it is about a schedule."""
        if "identity" in event.facts:
            self.number += 1
            self.buffer.append(FeedEvent(self.number, event))
            self._wake_listeners()

    def close(self) -> None:
        """End all streams, because the process is about to stop."""
        self.closed = True
        self._wake_listeners()

    async def listen(self, prefix: str, last: str, seconds: float) -> AsyncIterator[str]:
        """Yield the events of schedules whose identities start with `prefix`.

        Args:
            prefix: Start of the identities.
            last: Event id to continue after; empty to start now.
            seconds: How long to listen.
        """
        position, events_lost = self._start_position(last)
        end = self.timer.monotonic() + seconds
        if not self.has_worker:
            yield f"id: {self.process_token}.{position}\n{NO_WORKER_EVENT}"
        while True:
            changed = self.changed
            events_lost = events_lost or position < self.number - len(self.buffer)
            if events_lost:
                yield f"id: {self.process_token}.{position}\nevent: events_lost\ndata: {{}}\n\n"
            position, text = self._next_text(prefix, max(position, self.number - len(self.buffer)))
            events_lost = False
            if text:
                yield text
            remaining = end - self.timer.monotonic()
            if self.closed or remaining <= 0:
                return
            if position == self.number and not await _wait_for(min(remaining, KEEPALIVE_SECONDS), changed):
                yield ":\n\n"

    def _start_position(self, last: str) -> tuple[int, bool]:
        """Return the start position of a listener, and whether events are missing because `last` is no longer known."""
        token, _, number = last.partition(".")
        is_known = token == self.process_token and number.isascii() and number.isdigit() and len(number) < 16
        if not last or not is_known or int(number) > self.number:
            return self.number, bool(last)
        return int(number), False

    def _next_text(self, prefix: str, position: int) -> tuple[int, str]:
        """Return the position after the next events and their text."""
        first = self.buffer[0].number if self.buffer else 0
        last = min(self.number, position + MAX_EVENTS_PER_TURN)
        entries = [self.buffer[n - first] for n in range(position + 1, last + 1)]
        own_entries = [entry for entry in entries if entry.event.facts["identity"].startswith(prefix)]
        return last, "".join(
            f"id: {self.process_token}.{entry.number}\n{_text(entry.event, prefix)}" for entry in own_entries
        )

    def _wake_listeners(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


async def _wait_for(seconds: float, event: asyncio.Event) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _text(event: Event, prefix: str) -> str:
    return f"event: {event.name}\ndata: {json.dumps(_event_body(event, prefix))}\n\n"


def _event_body(event: Event, prefix: str) -> dict[str, Any]:
    """Return an event with the field names of the HTTP API."""
    facts = event.facts
    body = {"at": rfc3339_ms(event.at), "schedule_id": facts["identity"].removeprefix(prefix)}
    if "key" in facts:
        body |= {"key": facts["key"], "period": rfc3339(facts["nominal"]), "state": facts["state"]}
    names = {"outcome": "outcome", "reason": "reason", "attempt": "attempt", "trigger": "trigger", "result": "result"}
    return body | {name: facts[fact] for fact, name in names.items() if facts.get(fact) is not None}
