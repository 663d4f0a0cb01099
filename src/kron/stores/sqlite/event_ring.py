"""Event ring in an SQLite file."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence

from kron.engine.event_ring import LISTEN_MS, RING_SIZE, RingEvent, RingPage, is_within, page_of
from kron.stores.sqlite.file import File


class SqliteEventRing:
    """Event ring of the processes that use one file."""

    def __init__(self, file: File, now: Callable[[], Awaitable[int]]) -> None:
        self.file, self.now = file, now

    async def write(self, events: Sequence[RingEvent]) -> None:
        """Append events, and remove the oldest ones."""

        def work() -> None:
            self.file.count("grow_ring", count=len(events))
            ((newest, _),) = self.file.rows("ring")
            first = newest - len(events) + 1
            for number, event in enumerate(events, first):
                values = {"at": event.at, "schedule": event.identity, "name": event.name}
                self.file.count("write_event", number=number, facts=json.dumps(event.facts), **values)
            self.file.count("trim_ring", upto=newest - RING_SIZE)

        await self.file.write(work)

    async def read(self, position: int | None, limit: int) -> RingPage:
        """Return at most `limit` events after a position."""

        def work() -> RingPage:
            ((newest, _),) = self.file.rows("ring")
            rows = [] if position is None else self.file.rows("read_events", after=position, limit=limit)
            events = [(row[0], RingEvent(row[1], row[2], row[3], json.loads(row[4]))) for row in rows]
            return page_of(position, newest, events)

        return await self.file.read(work)

    async def listen(self) -> None:
        """Register that a process listens."""
        now = await self.now()
        await self.file.write(lambda: self.file.count("listen_to_ring", now=now, length=LISTEN_MS))

    async def is_listened(self) -> bool:
        """Return whether a process listens."""
        ((_, until),) = await self.file.read(lambda: self.file.rows("ring"))
        return is_within(until, await self.now())
