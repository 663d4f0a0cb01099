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


class VirtualTime:
    """Clock and timer whose time passes when somebody sleeps. During the first sleep, `on_sleep` is called."""

    def __init__(self, now):
        self.time, self.on_sleep = now, lambda: None

    def now(self):
        return self.time

    def monotonic(self):
        return self.time

    async def sleep(self, seconds):
        self.time += seconds
        self.on_sleep()
        self.on_sleep = lambda: None
        await asyncio.sleep(0)


class TimedRing(MemoryEventRing):
    """It keeps when it was written, and how many events came at once."""

    def __init__(self, time):
        async def now():
            return int(time.now() * 1000)

        super().__init__(now)
        self.time, self.writes = time, []

    async def write(self, events):
        self.writes.append((round(self.time.now() % 60, 2), len(events)))


def writes_of(count):
    """Return the writes of events that come at once, 10.1 s after a minute began, while the relay waits."""

    async def main():
        time = VirtualTime(1_795_122_969.9)
        relay = EventRelay(TimedRing(time), time, clock=time)

        def happen():
            for number in range(count):
                relay(Event("executed", 0, {"identity": f"report/{number}"}))

        relay.begin()
        time.on_sleep = happen
        async with relaying(relay):
            while time.now() < 1_795_122_971.5:
                await asyncio.sleep(0)
        return relay.ring.writes

    return asyncio.run(main())


def test_few_events_are_written_at_once():
    assert writes_of(3) == [(10.1, 3)]


def test_many_events_are_written_when_few_runs_are_due():
    writes = writes_of(4_000)
    assert sum(size for _, size in writes) == 4_000
    assert all(10.5 <= at < 11 for at, _ in writes), writes  # and fast enough for them all
