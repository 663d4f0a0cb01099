"""Event mirror: a copy of the newest part of the event ring in this process, for all who listen here.

The ring is read once for all listeners, and only while there are any. Each listener has a position. Nothing is queued
per listener: one that is slower than the mirror reads the ring itself, or is told that events are lost.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from contextvars import copy_context
from itertools import islice
from operator import itemgetter

from kron.engine.background import in_background
from kron.engine.clock import Timer
from kron.engine.event_ring import LISTEN_MS, EventRing, RingEvent, RingPage, page_of
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import KronError

MIRROR_SIZE = 5_000  # events in the mirror
PAGE_SIZE = 500  # events in one read, and in one step of a listener
POLL_SECONDS = 0.5  # seconds between two reads without a notification
KEEP_SECONDS = 10.0
REGISTER_SECONDS = LISTEN_MS / 1000 / 3


class EventMirror:
    """Copy of the newest events, kept up to date while it has listeners."""

    def __init__(self, ring: EventRing, timer: Timer, on_listening: Callable[[], None] = lambda: None) -> None:
        self.ring, self.timer, self.on_listening = ring, timer, on_listening
        self.events: deque[tuple[int, RingEvent]] = deque(maxlen=MIRROR_SIZE)
        self.start, self.position = 0, 0  # the mirror has the events after `start`, up to `position`
        self.listener_count = 0
        self.changed, self.demand, self.is_current, self.closed = asyncio.Event(), asyncio.Event(), False, False
        self._kept_until, self._has_more, self._woken = 0.0, False, asyncio.Event()
        self._context = copy_context()
        self._registered: float | None = None  # when this process registered as listening

    async def run(self) -> None:
        """Keep the mirror up to date until canceled. Without listeners, nothing is read."""
        set_tenant_scope(ALL_TENANTS)
        self._context = copy_context()
        subscribe = getattr(self.ring, "with_notifications", None)
        while True:
            await self.demand.wait()
            notified: AbstractAsyncContextManager[None] = subscribe(self._wake) if subscribe else nullcontext()
            async with notified:
                while self._is_needed() and not self.closed:
                    with suppress(KronError):  # the store does not answer: listeners keep their positions
                        await self._step()
                    await self._wait(POLL_SECONDS)
            self.is_current, self._registered = False, None
            self.demand.clear()

    def keep(self) -> None:
        """Keep the mirror up to date for some seconds, for one who asks again and again instead of listening."""
        self._kept_until = self.timer.monotonic() + KEEP_SECONDS
        if not self.demand.is_set():
            self.demand.set()
            self._wake()

    def close(self) -> None:
        """End all listeners, because the process is about to stop."""
        self.closed = True
        self._tell()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Count a listener while the context is active. It begins when the mirror is current."""
        self.listener_count += 1
        self.demand.set()
        self._wake()
        try:
            while not self.is_current and not self.closed:
                changed = self.changed
                await self.timer.within(LISTEN_MS / 1000, changed.wait())
            yield
        finally:
            self.listener_count -= 1

    async def page(self, position: int) -> RingPage:
        """Return the events after a position: from the mirror, or from the ring if the mirror begins later."""
        if position < self.start:  # read for all tenants: events of others would seem to be lost
            reading = self.ring.read(position, PAGE_SIZE)
            return await asyncio.get_running_loop().create_task(reading, context=self._context)
        first = bisect_right(self.events, position, key=itemgetter(0))
        entries = list(islice(self.events, first, first + PAGE_SIZE))
        return page_of(position, max(position, self.position), entries)

    async def wait(self, position: int, seconds: float) -> bool:
        """Wait until there are events after a position; False if there are none after so many seconds."""
        changed = self.changed
        if self.position > position or self.closed:
            return True
        try:
            await self.timer.within(seconds, changed.wait())
        except TimeoutError:
            return False
        return True

    def _is_needed(self) -> bool:
        return self.listener_count > 0 or self.timer.monotonic() < self._kept_until

    async def _step(self) -> None:
        now = self.timer.monotonic()
        if self._registered is None or now - self._registered >= REGISTER_SECONDS:
            await self.ring.listen()
            self._registered = now
            self.on_listening()
        if not self.is_current:
            self.events.clear()
            self.start = self.position = (await self.ring.read(None, 0)).position
            self.is_current = True
            self._tell()
        page = await self.ring.read(self.position, PAGE_SIZE)
        if page.lost:
            self.events.clear()
            self.start = page.position - len(page.events)
        for entry in page.events:
            if len(self.events) == MIRROR_SIZE:
                self.start = self.events[0][0]
            self.events.append(entry)
        if page.position != self.position:
            self.position = page.position
            self._tell()
        self._has_more = len(page.events) == PAGE_SIZE

    def _wake(self) -> None:
        self._woken.set()

    async def _wait(self, seconds: float) -> None:
        if self._has_more:
            return
        with suppress(TimeoutError):
            await self.timer.within(seconds, self._woken.wait())
        self._woken.clear()

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@asynccontextmanager
async def mirroring(mirror: EventMirror) -> AsyncIterator[None]:
    """Keep a mirror up to date in a background task while the context is active."""
    async with in_background(mirror.run()):
        try:
            yield
        finally:
            mirror.close()
