"""A hint wakes a worker that rests; without it, the worker comes when its tick is over."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest

from kron import parse
from kron.apps.wiring import open_store, with_notifications
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult
from kron.stores.memory import MemoryStore
from kron.stores.postgres.notifications import Listener
from kron.timing.job import Job
from tests.pooler import PROGRAM

LISTENING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%%'"


class Target:
    """Remembers when it was called."""

    def __init__(self):
        self.starts, self.started = [], asyncio.Event()

    async def start(self, launch):
        self.starts.append(time.monotonic())
        self.started.set()
        return LaunchResult.OK

    async def cancel(self, run):
        pass


@asynccontextmanager
async def resting(url, tick):
    """A worker that has looked, and rests; its target, and somebody else who may ask."""
    async with open_store(url) as own, open_store(url) as other:
        registrar, target, stop = Registrar(other), Target(), asyncio.Event()
        for name in ("a", "b"):
            await registrar.upsert(Job(name, parse("0 0 1 1 *", dialect="kron"), target="test:it"))
        worker = Worker(own, {"test": target}, SystemTimer(), owner="w", settings=Settings(tick=tick))
        async with with_notifications(own, worker.notify):
            working = asyncio.create_task(worker.run(stop))
            await asyncio.sleep(0.7)  # by then it listens, and has been woken for what was rung before
            yield registrar, target
            stop.set()
            worker.notify()
            await working


async def asked_for(registrar, target, name="a"):
    """Seconds from a request of another to the launch."""
    began = time.monotonic()
    await registrar.trigger(name, f"request {began}")
    await asyncio.wait_for(target.started.wait(), 10)
    return target.starts[-1] - began


def test_who_asks_wakes_who_rests(database):
    async def script():
        async with resting(database, tick=5_000) as (registrar, target):
            return await asked_for(registrar, target)

    assert asyncio.run(script()) < 1


@pytest.mark.slow
def test_without_a_line_to_listen_on_it_comes_when_its_tick_is_over_and_later_it_listens_again(database, sql):
    async def script():
        async with resting(database, tick=3_000) as (registrar, target):
            await asyncio.sleep(0)
            ended = sql(f"SELECT pg_terminate_backend(pid) FROM ({LISTENING}) AS listeners")
            slow = await asked_for(registrar, target)
            await asyncio.sleep(1)  # by now it has a line again
            target.started.clear()
            return len(ended), slow, await asked_for(registrar, target, "b")

    ended, slow, fast = asyncio.run(script())
    assert ended == 1
    assert slow < 4
    assert fast < 1


def test_a_bell_of_somebody_else_is_not_heard_and_a_listener_ends_with_its_store(database, sql):
    heard = []

    async def script():
        async with open_store(database) as store, with_notifications(store, lambda: heard.append(1)):
            await asyncio.sleep(0.5)
            sql("SELECT pg_notify('kron', 'kron/another'), pg_notify('kron', 'other/default')")
            await asyncio.sleep(0.2)
            before = len(heard)
            sql("SELECT pg_notify('kron', 'kron/default')")
            await asyncio.sleep(0.3)
            return before, len(heard)

    assert asyncio.run(script()) == (1, 2)  # the first when it begins to listen
    assert sql(LISTENING) == []


def test_a_store_that_cannot_tell_is_only_slower():
    async def script():
        async with with_notifications(MemoryStore(ManualClock()), lambda: None):
            return True

    assert asyncio.run(script())


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="needs pgbouncer")
def test_behind_a_pooler_nobody_listens(database, pooler):
    async def script():
        await asyncio.wait_for(Listener(pooler(database), "default", lambda: None).run(), 5)  # it ends by itself
        with suppress(TimeoutError):
            await asyncio.wait_for(Listener(database, "default", lambda: None).run(), 1)
            return False
        return True

    assert asyncio.run(script())
    with psycopg.connect(pooler(database), autocommit=True, prepare_threshold=None) as connection:
        assert connection.execute("SELECT pg_listening_channels()").fetchall() == []
