"""What users test with: time that passes at once, and roads on which messages get lost."""

import asyncio
import time

import pytest

from kron.stores.memory import MemoryStore
from kron.testing import (
    Deadlock,
    FaultProfile,
    FaultyNetwork,
    FaultyStore,
    ReliableNetwork,
    VirtualClock,
    VirtualLoop,
    VirtualTimer,
    run,
)


def test_a_day_passes_at_once():
    async def main():
        began = time.monotonic()
        await asyncio.sleep(86_400)
        return asyncio.get_running_loop().time(), time.monotonic() - began

    virtual, real = run(main())
    assert virtual == pytest.approx(86_400)
    assert real < 5


def test_timers_fire_in_the_order_of_their_times():
    heard = []

    async def say(after):
        await asyncio.sleep(after)
        heard.append(after)

    async def main():
        await asyncio.gather(*(say(after) for after in (3, 1, 2)))

    run(main())
    assert heard == [1, 2, 3]


def test_a_timeout_ends_what_takes_too_long():
    async def main():
        timer = VirtualTimer(asyncio.get_running_loop())
        with pytest.raises(TimeoutError):
            await timer.within(10, asyncio.sleep(60))
        return timer.monotonic()

    assert run(main()) == pytest.approx(10)


def test_waiting_for_nothing_is_an_error():
    async def main():
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock):
        run(main())


def test_what_was_killed_does_not_clean_up():
    cleaned = []

    async def victim(loop):
        try:
            await loop.never()
        finally:
            cleaned.append(True)

    async def main():
        loop = asyncio.get_running_loop()
        task = loop.create_task(victim(loop))
        await asyncio.sleep(1)
        assert not task.done()
        return list(cleaned)

    assert run(main()) == []


def test_a_clock_can_be_set():
    loop = VirtualLoop()
    clock = VirtualClock(loop, 1_000)
    clock.step(-10)
    assert clock.now() == 990
    loop.close()


@pytest.mark.parametrize(("calls", "answers", "registered"), [(1.0, 0.0, False), (0.0, 1.0, True)])
def test_a_call_is_lost_before_its_work_and_an_answer_after(calls, answers, registered):
    async def main():
        loop = asyncio.get_running_loop()
        store = MemoryStore(VirtualClock(loop, 1_000_000))
        road = FaultyNetwork(VirtualTimer(loop), FaultProfile(0.1, 0.2, calls_lost=calls, answers_lost=answers), seed=1)
        with pytest.raises(ConnectionError):
            await FaultyStore(store, road).lease("me", frozenset({"x"}), 1_000)
        return "me" in store.register.lives

    assert run(main()) is registered


def test_on_a_clear_road_nothing_happens():
    async def main():
        store = MemoryStore(VirtualClock(asyncio.get_running_loop(), 5))
        return await FaultyStore(store, ReliableNetwork()).now()

    assert run(main()) == 5_000
