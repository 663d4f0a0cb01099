"""Event relay: what happens after this process listens is told, however long the store takes to answer."""

import asyncio

from kron.engine.clock import SystemTimer
from kron.engine.event_relay import EventRelay, relaying
from kron.engine.events import Event
from kron.stores.memory.event_ring import MemoryEventRing


class SlowRing(MemoryEventRing):
    """Its answer to the first question, whether a process listens, is old when it arrives."""

    def __init__(self, now):
        super().__init__(now)
        self.asked, self.answered = asyncio.Event(), asyncio.Event()

    async def is_listened(self):
        is_listened = await super().is_listened()
        self.asked.set()
        await self.answered.wait()
        return is_listened


def test_relay_tells_an_event_if_the_process_begins_to_listen_while_the_store_is_asked():
    async def main():
        async def now():
            return 0

        ring, timer = SlowRing(now), SystemTimer()
        relay = EventRelay(ring, timer)
        async with relaying(relay):
            await ring.asked.wait()
            await ring.listen()
            relay.begin()
            ring.answered.set()
            await asyncio.sleep(0.05)
            relay(Event("paused", 0, {"identity": "report"}))
            end = timer.monotonic() + 1
            while not ring.events and timer.monotonic() < end:
                await asyncio.sleep(0.01)
        return [event.name for _, event in ring.events]

    assert asyncio.run(main()) == ["paused"]
