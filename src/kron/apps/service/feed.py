"""The feed: what the worker of this process states, for whoever listens, as server-sent events.

One ring for all, and each listener has a place in it. Nothing is kept for anybody: who is slower than the ring is told
that there is a hole, and reads the runs instead.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import Counter, deque
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from kron.clock import Timer
from kron.core.zone import rfc3339, rfc3339_ms
from kron.events import Event

KEPT = 10_000  # events
AT_ONCE = 500  # that a listener is given before others have their turn
ELSEWHERE = 'event: elsewhere\ndata: {"reason": "this process has no worker; read the runs instead"}\n\n'
QUIET = 15.0  # seconds without an event, after which a comment keeps the line open


class News(NamedTuple):
    """An event about a schedule."""

    number: int
    event: Event


class Feed:
    """Hears events, and tells them."""

    def __init__(self, timer: Timer, kept: int = KEPT, *, here: bool = True) -> None:
        self.here = here  # whether a worker of this process tells it anything
        self.timer, self.ring, self.number = timer, deque[News](maxlen=kept), 0
        self.life = secrets.token_hex(4)  # numbers of another life of this process mean nothing
        self.stirred, self.over = asyncio.Event(), False
        self.listeners: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        """Hear an event. Only what is about a schedule is told."""
        if "identity" in event.facts:
            self.number += 1
            self.ring.append(News(self.number, event))
            self._stir()

    def close(self) -> None:
        """Let the listeners go: the process is about to end."""
        self.over = True
        self._stir()

    async def listen(self, prefix: str, last: str, seconds: float) -> AsyncIterator[str]:
        """What happens to the schedules whose names begin so, from after the event `last` on, for so long."""
        place, hole = self._place(last)
        end = self.timer.monotonic() + seconds
        if not self.here:
            yield f"id: {self.life}.{place}\n{ELSEWHERE}"
        while True:
            stirred = self.stirred
            hole = hole or place < self.number - len(self.ring)
            if hole:
                yield f"id: {self.life}.{place}\nevent: hole\ndata: {{}}\n\n"
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
        """Where a listener begins: after what he has seen; if that is not known any more, now, and there is a hole."""
        life, _, number = last.partition(".")
        known = life == self.life and number.isascii() and number.isdigit() and len(number) < 16
        if not last or not known or int(number) > self.number:
            return self.number, bool(last)
        return int(number), False

    def _told(self, prefix: str, place: int) -> tuple[int, str]:
        """The next events from a place on, and the place after them."""
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
    """An event by the names of the interface."""
    facts = event.facts
    said = {"at": rfc3339_ms(event.at), "schedule_id": facts["identity"].removeprefix(prefix)}
    if "key" in facts:
        said |= {"key": facts["key"], "period": rfc3339(facts["nominal"]), "state": facts["state"]}
    names = {"verdict": "outcome", "reason": "reason", "attempt": "attempt", "trigger": "trigger", "answer": "answer"}
    return said | {name: facts[fact] for fact, name in names.items() if facts.get(fact) is not None}
