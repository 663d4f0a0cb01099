"""What an application can do to its scheduler, and the scheduler survives: exits, threads, sinks, hung functions."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from kron import KronError, Scheduler, StoreUnavailable
from kron.apps.wiring import open_store
from kron.rules.run_state import State
from kron.testing import VirtualClock, VirtualLoop, VirtualTimer
from kron.timing.zone import instant_of

SECOND = {"schedule": "* * * * * *", "dialect": "service"}


async def until(condition, seconds=20):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


async def runs(s, name):
    return await s._inside.registrar.store.runs(name, 100)


@contextmanager
def running(s):
    """The scheduler in a thread, as a Flask application or a script would have it."""
    thread = threading.Thread(target=s.run)
    thread.start()
    try:
        yield thread
    finally:
        s.stop()
        thread.join(20)
        assert not thread.is_alive()


def wait_for(condition, seconds=20):
    until_then = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until_then
        time.sleep(0.02)


def exits():
    sys.exit(3)


async def exits_async():
    sys.exit(3)


class Fatal(BaseException):
    pass


async def fatal():
    raise Fatal


@pytest.mark.parametrize("function", [exits, exits_async, fatal])
def test_exit_in_a_job_is_recorded_as_failed_and_ends_nothing_else(function, caplog):
    async def script():
        ticks = []
        async with Scheduler("memory:") as s:
            s.add(lambda: ticks.append(1), **SECOND, name="tick")
            s.add(function, "daily", name="job")
            await s.trigger("job")
            await until(lambda: "job 'job' failed" in caplog.text)
            before = len(ticks)
            await until(lambda: len(ticks) > before)
            await asyncio.sleep(0.1)
            return [run.state for run in await runs(s, "job")]

    assert asyncio.run(script()) == [State.FAILED]


def test_keyboard_interrupt_in_a_job_ends_the_application():
    async def interrupted():
        raise KeyboardInterrupt

    async def script():
        async with Scheduler("memory:") as s:
            s.add(interrupted, "daily", name="job")
            await s.trigger("job")
            await asyncio.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(script())


async def three_ticks(sink):
    """The states of the runs of a job that was called three times."""
    ticks = []
    async with Scheduler("memory:", on_event=sink) as s:
        s.add(lambda: ticks.append(1), **SECOND, name="tick")
        await until(lambda: len(ticks) >= 3)
        return [run.state for run in await runs(s, "tick")]


def test_sink_that_raises_stops_neither_runs_nor_records(caplog):
    def sink(event):
        raise ValueError("the metrics backend is down")

    states = asyncio.run(three_ticks(sink))
    assert states.count(State.SUCCESS) >= 2
    assert State.UNKNOWN not in states
    assert caplog.text.count("event sink failed") == 1


def test_sink_that_fails_on_one_kind_of_event_is_told_once(caplog):
    def sink(event):
        if event.name == "run_recorded":
            raise ValueError("the metrics backend is down")

    asyncio.run(three_ticks(sink))
    (told,) = [record for record in caplog.records if "event sink failed" in record.getMessage()]
    assert told.name == "kron.scheduler"


def test_add_from_another_thread_runs_the_job(tmp_path):
    ticks = []
    s = Scheduler(f"sqlite:{tmp_path}/jobs.db")
    with running(s):
        wait_for(lambda: s._inside)
        assert s.add(lambda: ticks.append(1), **SECOND, name="tick") == "tick"
        wait_for(lambda: ticks)


def test_add_from_another_thread_that_fails_leaves_nothing_behind():
    class Broken:
        async def upsert(self, *args):
            raise RuntimeError("the store is down")

    s = Scheduler("memory:")
    with running(s):
        wait_for(lambda: s._inside)
        kept, s._inside.registrar = s._inside.registrar, Broken()
        with pytest.raises(RuntimeError, match="the store is down"):
            s.add(print, "daily", name="job")
        s._inside.registrar = kept
        assert s.add(print, "daily", name="job") == "job"


def test_add_while_the_scheduler_begins_is_not_forgotten(tmp_path):
    ticks = []
    s = Scheduler(f"sqlite:{tmp_path}/jobs.db")
    for number in range(20):
        s.add(print, "daily", name=f"job {number}")
    with running(s):
        time.sleep(0.05)  # it may be running by then, or on its way
        s.add(lambda: ticks.append(1), **SECOND, name="tick")
        wait_for(lambda: ticks)


def test_questions_from_another_thread_are_answered(tmp_path):
    called = []
    s = Scheduler(f"sqlite:{tmp_path}/jobs.db")
    s.add(lambda: called.append(1), "daily", name="job")
    with running(s):
        wait_for(lambda: s._inside)
        assert asyncio.run(s.next("job")) is not None
        assert len(asyncio.run(s.trigger("job"))) == 64
        wait_for(lambda: called)
        asyncio.run(s.pause("job"))
        asyncio.run(s.resume("job"))
        asyncio.run(s.delete("job"))
        with pytest.raises(KronError, match=r"job .* does not exist"):
            asyncio.run(s.next("job"))


def test_forgotten_job_can_be_added_again():
    async def script():
        first, second = [], []
        async with Scheduler("memory:") as s:
            s.add(lambda: first.append(1), **SECOND, name="job")
            await until(lambda: first)
            await s.delete("job")
            await asyncio.sleep(0.1)
            before = len(first)
            s.add(lambda: second.append(1), **SECOND, name="job")
            await until(lambda: second)
            assert len(first) == before

    asyncio.run(script())


def test_plain_functions_have_a_stated_number_of_threads():
    going, most, gate = set(), [0], threading.Event()

    def job(number):
        going.add(number)
        most[0] = max(most[0], len(going))
        gate.wait(20)
        going.discard(number)

    async def script():
        async with Scheduler("memory:", max_workers=3) as s:
            for number in range(5):
                s.add(job, "daily", name=str(number), args=(number,))
                await s.trigger(str(number))
            await until(lambda: len(going) == 3)
            await asyncio.sleep(1)
            states = [(await runs(s, str(number)))[0].state for number in range(5)]
            gate.set()
            await until(lambda: not going)
            return states

    states = asyncio.run(script())
    assert most == [3]
    assert sorted(states) == [State.RETRY] * 2 + [State.STARTED] * 3


def test_job_that_waits_for_a_thread_is_not_started_and_not_lost(monkeypatch, caplog):
    """It is recorded as not started while it waits, and it runs when a thread is free."""
    monkeypatch.setattr("kron.apps.embedded.options.APPLICATION", _short_lease())
    gate, called = threading.Event(), []

    async def script():
        async with Scheduler("memory:", max_workers=1) as s:
            s.add(lambda: gate.wait(20), "daily", name="long")
            s.add(lambda: called.append(1), "daily", name="waits")
            await s.trigger("long")
            await s.trigger("waits")
            await asyncio.sleep(3)  # three leases
            ((waits,), (long,)) = await runs(s, "waits"), await runs(s, "long")
            gate.set()
            await until(lambda: called)
            await asyncio.sleep(0.2)
            return waits.state, waits.outcome, long.state, (await runs(s, "waits"))[0].state

    assert asyncio.run(script()) == (State.RETRY, None, State.STARTED, State.SUCCESS)
    assert "job 'waits' is waiting for a free thread; Scheduler(max_workers=1)" in caplog.text


def _short_lease():
    from dataclasses import replace

    from kron.timing.schedule.policy import APPLICATION

    return replace(APPLICATION, run_lease=1_000_000_000)


def test_end_honours_patience_though_a_plain_function_hangs():
    gate, begun = threading.Event(), []

    def hung():
        begun.append(1)
        gate.wait(30)

    s = Scheduler("memory:", shutdown_timeout=1)
    s.add(hung, **SECOND, name="hung")
    with running(s) as thread:
        wait_for(lambda: begun)
        before = time.monotonic()
        s.stop()
        thread.join(20)
        took = time.monotonic() - before
    gate.set()
    assert took < 3


HUNG = """
import sys, time
from kron import Scheduler
s = Scheduler(sys.argv[1], shutdown_timeout=0.5)
def hung():
    s.stop()
    time.sleep(60)
s.add(hung, "* * * * * *", dialect="service")
s.run()
print("returned", flush=True)
"""


def test_process_ends_though_a_plain_function_hangs(tmp_path):
    url = f"sqlite:{tmp_path}/jobs.db"
    before = time.monotonic()
    result = subprocess.run([sys.executable, "-c", HUNG, url], capture_output=True, text=True, timeout=50, check=False)
    assert (result.returncode, result.stdout) == (0, "returned\n")
    assert "still runs in its thread" in result.stderr
    assert time.monotonic() - before < 20

    async def state():
        async with open_store(url) as store:
            return (await store.runs("hung", 1))[0].state

    assert asyncio.run(state()) in (State.ENQUEUED, State.STARTED)  # nobody knows how it ended: its lease will end


def test_end_of_a_run_is_recorded_after_a_failover_of_a_minute(caplog):
    """In virtual time. The store fails for 60 s, from before the end of the run on."""
    loop = VirtualLoop()
    clock = VirtualClock(loop, instant_of("2026-03-10T12:00:20Z"))

    async def script():
        async def job():
            await asyncio.sleep(10)

        async with Scheduler("memory:", clock=clock, timer=VirtualTimer(loop)) as s:
            s.add(job, "daily", name="job")
            await s.trigger("job")
            await asyncio.sleep(5)
            store, up = s._inside.registrar.store, loop.time() + 65
            change = store.update_runs

            async def fails(*args, **more):
                if loop.time() < up:
                    raise StoreUnavailable("STORE_FAILED", "the database fails over")
                return await change(*args, **more)

            store.update_runs = fails
            await asyncio.sleep(80)
            return [run.state for run in await runs(s, "job")]

    try:
        assert loop.run_until_complete(script()) == [State.SUCCESS]
    finally:
        loop.abandon()
    assert caplog.text.count("failed and is retried") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_logs_go_to_the_scheduler_alone(caplog):
    with caplog.at_level(logging.DEBUG):
        asyncio.run(_nothing())
    assert {record.name for record in caplog.records if record.name.startswith("kron")} <= {"kron.scheduler"}


async def _nothing():
    async with Scheduler("memory:"):
        await asyncio.sleep(0.1)
