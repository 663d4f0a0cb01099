"""Event ring in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from kron.engine.event_ring import LISTEN_MS, RING_SIZE, RingEvent, RingPage, is_within, page_of


class MemoryEventRing:
    """Event ring of one process."""

    def __init__(self, now: Callable[[], Awaitable[int]]) -> None:
        self.now = now
        self.events: deque[tuple[int, RingEvent]] = deque(maxlen=RING_SIZE)
        self.newest, self.until = 0, 0

    async def write(self, events: Sequence[RingEvent]) -> None:
        """Append events."""
        for event in events:
            self.newest += 1
            self.events.append((self.newest, event))

    async def read(self, position: int | None, limit: int) -> RingPage:
        """Return at most `limit` events after a position."""
        following = (entry for entry in self.events if position is not None and entry[0] > position)
        return page_of(position, self.newest, list(islice(following, limit)))

    async def listen(self) -> None:
        """Register that a process listens."""
        now = await self.now()
        self.newest += not is_within(self.until, now)
        self.until = now + LISTEN_MS

    async def is_listened(self) -> bool:
        """Return whether a process listens."""
        return is_within(self.until, await self.now())
