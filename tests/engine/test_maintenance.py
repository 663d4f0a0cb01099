"""A worker maintains its store: now and then, in bounded parts, and whatever happens."""

import asyncio

import pytest

from kron import Scheduler
from kron.engine.clock import ManualClock
from kron.engine.events import Memory
from kron.engine.maintenance import (
    DAY_MS,
    INTERVAL_SECONDS,
    MAX_CALLS_PER_ROUND,
    MAX_FIRST_DELAY_SECONDS,
    Maintenance,
    maintaining,
)
from kron.engine.store import Maintained
from kron.stores.memory import MemoryStore


class Timer:
    """Lets no time pass, and remembers what was slept; stands still after so many sleeps."""

    def __init__(self, most):
        self.slept, self.most = [], most

    async def sleep(self, seconds):
        self.slept.append(seconds)
        if len(self.slept) > self.most:
            await asyncio.Event().wait()
        await asyncio.sleep(0)


class Store(MemoryStore):
    """Answers to `maintain` as it is told to."""

    def __init__(self, *answers):
        super().__init__(ManualClock(1_000_000.0))
        self.answers, self.asked = list(answers), []

    async def maintain(self, now, keep):
        self.asked.append((now, keep))
        answer = self.answers.pop(0) if self.answers else Maintained()
        if isinstance(answer, Exception):
            raise answer
        return answer


def kept_up(store, sleeps, sink=None):
    async def script():
        timer = Timer(sleeps)
        async with maintaining(Maintenance(store, timer, sink=sink or Memory())):
            while len(timer.slept) <= sleeps:
                await asyncio.sleep(0)
        return timer.slept

    return asyncio.run(script())


def test_maintenance_comes_soon_and_then_every_hour():
    store = Store()
    first, *later = kept_up(store, 3)
    assert 0 < first <= MAX_FIRST_DELAY_SECONDS
    assert all(0.9 * INTERVAL_SECONDS <= each <= 1.1 * INTERVAL_SECONDS for each in later)
    assert store.asked == [(1_000_000_000, 90 * DAY_MS)] * 3


def test_maintenance_goes_on_while_there_is_more_and_no_further():
    store = Store(*[Maintained(10, more=True)] * (2 * MAX_CALLS_PER_ROUND))

    async def script():
        return await Maintenance(store, Timer(10**9), days=7).once()

    assert asyncio.run(script()) == 10 * MAX_CALLS_PER_ROUND
    assert store.asked == [(1_000_000_000, 7 * DAY_MS)] * MAX_CALLS_PER_ROUND


def test_maintenance_that_fails_is_told_and_tried_again():
    store, sink = Store(OSError("the disk is gone")), Memory()
    kept_up(store, 3, sink)
    assert len(store.asked) == 3
    (event,) = sink.named("maintenance_failed")
    assert "the disk is gone" in event.facts["error"]


def test_maintenance_is_not_stopped_by_who_listens():
    def raises(event):
        raise ValueError("nobody listens")

    store = Store(OSError())
    kept_up(store, 3, raises)
    assert len(store.asked) == 3


@pytest.mark.parametrize(("days", "keep"), [(30, 30 * DAY_MS), (None, None)])
def test_scheduler_maintains_its_store(monkeypatch, days, keep):
    asked = []

    async def maintain(store, now, keep):
        asked.append(keep)
        return Maintained()

    monkeypatch.setattr("kron.engine.maintenance.MAX_FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(MemoryStore, "maintain", maintain)

    async def script():
        async with Scheduler("memory:", retention=days):
            for _ in range(500):
                await asyncio.sleep(0.01)
                if asked:
                    break

    asyncio.run(script())
    assert asked == [keep]
