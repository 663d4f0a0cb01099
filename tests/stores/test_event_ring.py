"""The event ring: the same in every store, in the order of the commits, and bounded."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from kron.engine.event_ring import LISTEN_MS, RING_SIZE, RingEvent
from kron.stores.postgres import PostgresStore


class Ring:
    """The ring of a store, whose methods return what they would give if they were awaited."""

    def __init__(self, store):
        self.store = store

    def __getattr__(self, name):
        method = getattr(self.store.store.events, name)
        return lambda *args: self.store.runner.run(method(*args))


def an_event(number, identity="a"):
    return RingEvent(
        1_000 + number, identity, "run_finished", {"identity": identity, "key": f"k{number}", "none": None}
    )


def test_events_are_read_in_the_order_in_which_they_were_written(store):
    ring = Ring(store)
    assert ring.read(None, 10) == ([], 0, False)
    ring.write([an_event(1), an_event(2, "t/b")])
    ring.write([an_event(3)])
    page = ring.read(0, 2)
    assert page == ([(1, an_event(1)), (2, an_event(2, "t/b"))], 2, False)
    assert ring.read(page.position, 10) == ([(3, an_event(3))], 3, False)
    assert ring.read(3, 10) == ([], 3, False)
    assert ring.read(None, 10).position == 3


def test_reader_stops_and_goes_on_anywhere_in_what_was_written_at_once(store):
    ring = Ring(store)
    ring.write([an_event(number) for number in range(1, 6)])
    ring.write([an_event(6, "t/nul-\0-b")])
    ring.write([an_event(number) for number in range(7, 10)])
    every_event = ring.read(0, 100).events
    assert [number for number, _ in every_event] == [*range(1, 10)]
    assert [event.at for _, event in every_event] == [1_000 + number for number in range(1, 10)]
    for position in range(10):
        for limit in range(1, 11):
            page = ring.read(position, limit)
            assert page.events == every_event[position : position + limit]
            assert (page.position, page.lost) == (min(9, position + limit), False)


def test_ring_is_bounded_and_tells_what_is_lost(store):
    ring = Ring(store)
    for first in range(0, RING_SIZE + 1_000, 1_000):
        ring.write([an_event(number) for number in range(first, first + 1_000)])
    page = ring.read(0, 10)
    assert (page.events[0][0], page.lost) == (1_001, True)
    assert ring.read(1_000, 10).lost is False
    assert ring.read(RING_SIZE + 1_000, 10) == ([], RING_SIZE + 1_000, False)
    assert ring.read(10**9, 10) == ([], RING_SIZE + 1_000, True)  # a position of another store


def test_process_listens_for_a_while(store, clock):
    ring = Ring(store)
    assert not ring.is_listened()
    ring.listen()
    assert ring.is_listened()
    clock.advance(LISTEN_MS / 1000 - 0.001)
    assert ring.is_listened()
    clock.advance(0.001)
    assert not ring.is_listened()


def test_time_without_a_listener_counts_as_lost(store, clock):
    """A reader that comes back must read the runs instead: nothing was written while no process listened."""
    ring = Ring(store)
    ring.listen()
    position = ring.read(None, 10).position
    clock.advance(LISTEN_MS / 2000)
    ring.listen()  # still the same listening
    assert ring.read(position, 10) == ([], position, False)
    clock.advance(LISTEN_MS / 1000)
    ring.listen()
    assert ring.read(position, 10) == ([], position + 1, True)
    ring.write([an_event(1)])
    assert ring.read(position, 10) == ([(position + 2, an_event(1))], position + 2, True)
    assert ring.read(position + 1, 10).lost is False


def test_clock_that_was_set_back_does_not_make_the_ring_listen_for_long(store, clock):
    ring = Ring(store)
    ring.listen()
    clock.advance(-3_600)
    assert not ring.is_listened()


def test_reader_beside_many_writers_skips_nothing(database):
    """Numbers that were given first must not be committed last."""
    writers, batches = 4, 25

    def write(writer):
        async def work():
            store = PostgresStore(database)
            for batch in range(batches):
                await store.events.write([an_event(batch, f"w{writer}") for _ in range(3)])
            await store.close()

        asyncio.run(work())

    async def read():
        store, position, found = PostgresStore(database), 0, []
        while len(found) < writers * batches * 3:
            page = await store.events.read(position, 7)
            assert not page.lost
            found += [number for number, _ in page.events]
            position = page.position
        await store.close()
        return found

    with ThreadPoolExecutor(writers) as threads:
        futures = [threads.submit(write, writer) for writer in range(writers)]
        found = asyncio.run(asyncio.wait_for(read(), 60))
        for future in futures:
            future.result()
    assert found == list(range(1, writers * batches * 3 + 1))


def test_writes_are_told_to_other_processes_at_once(database):
    async def watch():
        reader, writer, told = PostgresStore(database), PostgresStore(database), asyncio.Event()
        async with reader.events.with_notifications(told.set):
            await asyncio.wait_for(told.wait(), 20)  # the first call comes when the listener is connected
            told.clear()
            await writer.events.write([an_event(1)])
            await asyncio.wait_for(told.wait(), 5)
        await reader.close()
        await writer.close()

    asyncio.run(watch())
