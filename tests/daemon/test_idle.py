"""Idle: a daemon sleeps until the next period. The kernel wakes it when the clock jumps and when others write."""

import asyncio
import errno
import os
import time

import pytest

from kron.apps.daemon import clock_watch
from kron.apps.daemon.clock_watch import ClockWatch
from kron.apps.daemon.idle import IDLE_SETTINGS, IdleWatch
from kron.apps.daemon.store_watch import StoreWatch
from kron.apps.wiring import open_store
from kron.engine.clock import ManualClock
from kron.engine.log_events import text_of
from kron.engine.settings import Settings
from kron.engine.store import Store
from tests.daemon.krond import NEVER, krontab, until


@pytest.fixture
def jumped(monkeypatch):
    """A function that makes the next reads of timers say that the clock was set."""

    def canceled(*_):
        raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))

    return lambda: monkeypatch.setattr(clock_watch.os, "read", canceled)


def test_a_jump_of_the_clock_is_logged_with_both_times_and_wakes_the_daemon(jumped):
    events, woken, clock = [], [], ManualClock(1_000.0)
    watch = ClockWatch(events.append, lambda: woken.append(True), clock)
    assert watch.descriptor is not None
    watch.look()
    assert (events, woken) == ([], [])  # nothing to read: no jump
    clock.advance(3_600)
    jumped()
    watch.look()
    (event,) = events
    assert woken == [True]
    assert event.facts["after"] == 4_600_000
    assert 1_000_000 <= event.facts["before"] < 1_060_000
    assert text_of(event).startswith("clock jumped from 1970-01-01T00:16:40")
    watch.look()  # the second jump is measured from the first one
    assert events[-1].facts["before"] >= 4_600_000
    watch.close()


def test_without_a_timer_of_the_kernel_the_daemon_looks_every_second(tmp_path, monkeypatch):
    async def settings() -> Settings:
        async with open_store(f"sqlite:{tmp_path}/state.db") as store:
            watch = IdleWatch(store, lambda event: None, lambda: None)
            async with watch.following():
                return watch.settings

    assert asyncio.run(settings()) == IDLE_SETTINGS
    assert IDLE_SETTINGS.tick == 20_000
    monkeypatch.setattr(clock_watch, "_open", lambda: None)
    assert asyncio.run(settings()).tick == 1_000


def test_writes_of_others_are_noticed_and_own_writes_are_not(tmp_path):
    async def write(store: Store) -> None:
        await store.lease("worker", frozenset({"command"}), 60_000)

    async def scene() -> None:
        woken = asyncio.Event()
        async with open_store(f"sqlite:{tmp_path}/state.db") as own, open_store(f"sqlite:{tmp_path}/state.db") as other:
            watch = StoreWatch(own, woken.set)
            following = asyncio.ensure_future(watch.follow())
            await own.now()
            version = await own.file.changes_of_others()
            await write(own)
            assert await own.file.changes_of_others() == version
            await write(other)
            await asyncio.wait_for(woken.wait(), 30)
            following.cancel()

    asyncio.run(scene())


@pytest.mark.slow
def test_an_idle_daemon_starts_what_is_requested_at_once(krond):
    """Each pass of the daemon itself would come 20 s after the one before it: the second run would wait that long."""
    krond.write("table", krond.job("noted", "true", NEVER))
    krond.start()
    began = time.monotonic()
    for count in (1, 2):
        assert krontab(krond, "run", "noted").returncode == 0
        until(lambda count=count: sum(not run.open for run in krond.runs("noted")) == count)
    assert time.monotonic() - began < 15
