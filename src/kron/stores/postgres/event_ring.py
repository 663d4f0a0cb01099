"""Event ring in PostgreSQL, with a notification for each write."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import islice, starmap

from kron.engine.event_ring import LISTEN_MS, RING_SIZE, RingEvent, RingPage, is_within, page_of
from kron.stores.postgres.notifications import Listener, listening
from kron.stores.postgres.pool import Pool, Session


class PostgresEventRing:
    """Event ring of the processes that use one database.

    The row of the ring is locked by each write up to its commit, so that the order of the numbers is that of the
    commits, and a reader never skips an event.
    """

    def __init__(self, pool: Pool, now: Callable[[], Awaitable[int]]) -> None:
        self.pool, self.now = pool, now

    async def write(self, events: Sequence[RingEvent]) -> None:
        """Append events, remove the oldest batches, and notify readers."""
        batch = json.dumps(events)

        async def work(session: Session) -> None:
            ((newest,),) = await session.rows("grow_ring", count=len(events))
            await session.execute("write_events", last=newest, count=len(events), batch=batch)
            await session.execute("trim_ring", upto=newest - RING_SIZE)

        await self.pool.write(work)
        await self.pool.query("notify", whose=self._payload)

    async def read(self, position: int | None, limit: int) -> RingPage:
        """Return at most `limit` events after a position."""

        async def work(session: Session) -> RingPage:
            newest, _ = await _ring(session)
            rows = [] if position is None else await session.rows("read_events", after=position, limit=limit)
            return page_of(position, newest, list(islice(_events_after(position or 0, rows), limit)))

        return await self.pool.read(work)

    async def listen(self) -> None:
        """Register that a process listens."""
        now = await self.now()
        await self.pool.write(lambda session: session.execute("listen_to_ring", now=now, length=LISTEN_MS))

    async def is_listened(self) -> bool:
        """Return whether a process listens."""
        _, until = await self.pool.read(_ring)
        return is_within(until, await self.now())

    def with_notifications(self, on_event: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """Call `on_event` after each write of any process while the context is active."""
        return listening(Listener(self.pool.conninfo, self._payload, on_event))

    @property
    def _payload(self) -> str:
        return f"{self.pool.payload}/events"


async def _ring(session: Session) -> tuple[int, int]:
    """Return the newest number, and until when processes listen."""
    rows = await session.rows("ring")
    return (rows[0][0], rows[0][1]) if rows else (0, 0)


def _events_after(position: int, rows: Sequence[tuple[int, str]]) -> Iterator[tuple[int, RingEvent]]:
    """Yield the events of batches that are later than a position, with their numbers."""
    for last, batch in rows:
        events = json.loads(batch)
        left = min(len(events), last - position)
        yield from enumerate(starmap(RingEvent, events[-left:]), last - left + 1)
