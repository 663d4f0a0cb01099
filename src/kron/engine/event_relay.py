"""Event relay: a sink that writes the events of this process to the event ring, off the path of ticks.

It writes only while a process listens. Many events at once are written after the second has half passed, because runs
are due when it begins. Events that arrive faster than it can write are dropped: a reader of the ring can always read
the runs instead.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractAsyncContextManager, suppress
from types import NoneType

from kron.engine.background import in_background
from kron.engine.clock import Clock, SystemClock, Timer, seconds_to_quiet
from kron.engine.event_ring import EventRing, RingEvent
from kron.engine.events import Event
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import KronError

FLUSH_SECONDS = 0.2  # seconds between two writes
FULL_FLUSH_SECONDS = 0.05  # if a whole batch waits
QUIET_SIZE = 100  # more events than these wait for the second half of a second
CHECK_SECONDS = 2.0  # seconds between two questions whether a process listens
MAX_BATCH = 500  # events in one write
BUFFER_SIZE = 5_000
_PLAIN = (str, int, NoneType)


class EventRelay:
    """Sink that relays events to the ring.

    Args:
        ring: The ring.
        timer: Timer of the process.
        is_shared: Whether other processes can listen. If not, `begin` tells that this process does.
        clock: Clock of this host.
    """

    def __init__(self, ring: EventRing, timer: Timer, *, is_shared: bool = True, clock: Clock | None = None) -> None:
        self.ring, self.timer, self.is_shared, self.clock = ring, timer, is_shared, clock or SystemClock()
        self.begun = asyncio.Event()
        self.buffer: deque[Event] = deque(maxlen=BUFFER_SIZE)
        self.is_listened = False
        self._checked: float | None = None  # when the ring was asked whether a process listens

    def __call__(self, event: Event) -> None:
        """Keep an event for the next write, if a process listens and the event is about a schedule."""
        if self.is_listened and "identity" in event.facts:  # nothing else here: runs that are due wait for this
            self.buffer.append(event)

    def begin(self) -> None:
        """Relay from now on: this process itself listens."""
        self.is_listened, self._checked = True, self.timer.monotonic()
        self.begun.set()

    async def run(self) -> None:
        """Write events until canceled. A store that does not answer loses events, and nothing else."""
        set_tenant_scope(ALL_TENANTS)
        while True:
            with suppress(KronError):
                await self.step()
            if self.is_listened:
                await self._wait_for_write()
                continue
            with suppress(TimeoutError):
                await self._wait_for_begin()

    async def _wait_for_write(self) -> None:
        await self.timer.sleep(FLUSH_SECONDS if len(self.buffer) < MAX_BATCH else FULL_FLUSH_SECONDS)
        if len(self.buffer) > QUIET_SIZE:
            await self.timer.sleep(seconds_to_quiet(self.clock.now()))

    async def _wait_for_begin(self) -> None:
        if self.is_shared:
            await self.timer.within(CHECK_SECONDS, self.begun.wait())
        else:
            await self.begun.wait()

    async def step(self) -> None:
        """Write one batch, and ask from time to time whether a process listens."""
        now = self.timer.monotonic()
        if self._checked is None or not 0 <= now - self._checked < CHECK_SECONDS:
            self._checked = now
            self.begun.clear()
            is_listened = await self.ring.is_listened()
            self.is_listened = is_listened or self.begun.is_set()  # it can begin while the ring is asked
        if not self.is_listened:
            self.buffer.clear()
        elif self.buffer:
            batch = [self.buffer.popleft() for _ in range(min(MAX_BATCH, len(self.buffer)))]
            await self.ring.write([_ring_event(event) for event in batch])


def _ring_event(event: Event) -> RingEvent:
    """Return an event with those of its facts that JSON can express."""
    facts = {name: value for name, value in event.facts.items() if isinstance(value, _PLAIN)}
    return RingEvent(event.at, event.facts["identity"], event.name, facts)


def relaying(relay: EventRelay) -> AbstractAsyncContextManager[None]:
    """Relay events in a background task while the context is active."""
    return in_background(relay.run())
