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

KEPT = 10_000  # events in the buffer
AT_ONCE = 500  # maximum events per listener before other listeners get their turn
ELSEWHERE = 'event: elsewhere\ndata: {"reason": "this process has no worker; read the runs instead"}\n\n'
QUIET = 15.0  # seconds without an event, after which a comment keeps the connection open


class FeedEvent(NamedTuple):
    """A numbered event about a schedule."""

    number: int
    event: Event


class Feed:
    """Sink that buffers events and streams them to listeners."""

    def __init__(self, timer: Timer, kept: int = KEPT, *, here: bool = True) -> None:
        self.here = here  # whether a worker of this process sends events
        self.timer, self.ring, self.number = timer, deque[FeedEvent](maxlen=kept), 0
        self.life = secrets.token_hex(4)  # distinguishes the event numbers of this process from those before a restart
        self.stirred, self.over = asyncio.Event(), False
        self.listeners: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        """Buffer an event, if it is about a schedule."""
        if "identity" in event.facts:
            self.number += 1
            self.ring.append(FeedEvent(self.number, event))
            self._stir()

    def close(self) -> None:
        """End all streams, because the process is about to stop."""
        self.over = True
        self._stir()

    async def listen(self, prefix: str, last: str, seconds: float) -> AsyncIterator[str]:
        """Yield the events of schedules whose identities start with `prefix`.

        Args:
            prefix: Start of the identities.
            last: Event id to continue after; empty to start now.
            seconds: How long to listen.
        """
        place, hole = self._place(last)
        end = self.timer.monotonic() + seconds
        if not self.here:
            yield f"id: {self.life}.{place}\n{ELSEWHERE}"
        while True:
            stirred = self.stirred
            hole = hole or place < self.number - len(self.ring)
            if hole:
                yield f"id: {self.life}.{place}\nevent: events_lost\ndata: {{}}\n\n"
            place, told = self._told(prefix, max(place, self.number - len(self.ring)))
            hole = False
            if told:
                yield told
            left = end - self.timer.monotonic()
            if self.over or left <= 0:
                return
            if place == self.number and not await _within(min(left, QUIET), stirred):
                yield ":\n\n"

    def _place(self, last: str) -> tuple[int, bool]:
        """Return the start position of a listener, and whether events are missing because `last` is no longer known."""
        life, _, number = last.partition(".")
        known = life == self.life and number.isascii() and number.isdigit() and len(number) < 16
        if not last or not known or int(number) > self.number:
            return self.number, bool(last)
        return int(number), False

    def _told(self, prefix: str, place: int) -> tuple[int, str]:
        """Return the position after the next events and their text."""
        first = self.ring[0].number if self.ring else 0
        upto = min(self.number, place + AT_ONCE)
        some = [self.ring[n - first] for n in range(place + 1, upto + 1)]
        mine = [news for news in some if news.event.facts["identity"].startswith(prefix)]
        return upto, "".join(f"id: {self.life}.{news.number}\n{_text(news.event, prefix)}" for news in mine)

    def _stir(self) -> None:
        self.stirred.set()
        self.stirred = asyncio.Event()


async def _within(seconds: float, event: asyncio.Event) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _text(event: Event, prefix: str) -> str:
    return f"event: {event.name}\ndata: {json.dumps(_said(event, prefix))}\n\n"


def _said(event: Event, prefix: str) -> dict[str, Any]:
    """Return an event with the field names of the HTTP API."""
    facts = event.facts
    said = {"at": rfc3339_ms(event.at), "schedule_id": facts["identity"].removeprefix(prefix)}
    if "key" in facts:
        said |= {"key": facts["key"], "period": rfc3339(facts["nominal"]), "state": facts["state"]}
    names = {"outcome": "outcome", "reason": "reason", "attempt": "attempt", "trigger": "trigger", "result": "result"}
    return said | {name: facts[fact] for fact, name in names.items() if facts.get(fact) is not None}
