"""Limits of concurrent functions, and functions in child processes."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from kron import Scheduler, UsageError
from tests.embedded import process_jobs

HERE = "tests.embedded.process_jobs"


def test_waiting_run_is_not_started_and_not_skipped_and_says_why(tmp_path):
    """Three due functions and one thread: one starts, two wait, and all three run."""
    gate, begun, seen, skipped = threading.Event(), threading.Event(), [], []

    def job():
        begun.set()
        gate.wait(20)

    s = Scheduler(f"sqlite:{tmp_path}/jobs.db", max_workers=1)
    s.on_run_started(lambda event: seen.append(event.job))
    s.on_run_skipped(skipped.append)
    for name in "abc":
        s.add(job, "daily", name=name)
    with s:
        keys = {name: s.sync.trigger(name) for name in "abc"}
        assert begun.wait(20)
        with pytest.raises(TimeoutError):
            s.sync.result(keys["c"], timeout=0.5)
        states = [s.sync.runs(name)[0].state for name in "abc"]
        started_first = list(seen)
        assert "kron_runs_started_total 1" in s.metrics().splitlines()
        gate.set()
        assert [s.sync.result(key, timeout=20).state for key in keys.values()] == ["success"] * 3
    assert states == ["started", "retry", "retry"]
    assert started_first == ["a"]
    assert sorted(seen) == ["a", "b", "c"]
    assert skipped == []


def soon(seconds=1):
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds + 3)


@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "coroutine"])
def test_run_that_waits_when_the_scheduler_stops_runs_in_the_next_one(tmp_path, is_async):
    """The stop gives up the function that is running; the function that never started is not lost with it."""
    url, gate, called = f"sqlite:{tmp_path}/jobs.db", threading.Event(), []
    limits = {"max_coroutines": 1} if is_async else {"max_workers": 1}

    def declared(blocks):
        s = Scheduler(url, shutdown_timeout=0.5, **limits)

        async def long_coroutine():
            await asyncio.sleep(60 if blocks else 0)

        async def second_coroutine():
            called.append(time.time())

        s.task(long_coroutine if is_async else lambda: blocks and gate.wait(60), name="long")
        s.task(second_coroutine if is_async else lambda: called.append(time.time()), name="second")
        return s

    with declared(True) as s:
        s.sync.create("first", "long", at=soon())
        s.sync.create("waits", "second", at=soon(2))
        deadline = time.monotonic() + 20
        while not (runs := s.sync.runs("waits")) or runs[0].state != "retry":
            assert time.monotonic() < deadline, runs
            time.sleep(0.1)
        (limit,) = (f"{name}=1" for name in limits)
        text = f"open: The run is waiting: as many functions are running as Scheduler({limit}) allows."
        assert text in s.sync.why("waits").summary()
    assert called == []
    with declared(False) as s:
        run = s.sync.result(runs[0].key, timeout=20)
    gate.set()
    assert run.succeeded
    assert len(called) == 1
    assert abs(run.launched_at.timestamp() - called[0]) < 2


@pytest.mark.first
@pytest.mark.slow
def test_run_that_waits_when_its_process_is_killed_runs_in_the_next_one(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import sys, time
from datetime import UTC, datetime, timedelta
from kron import Scheduler

s = Scheduler("sqlite:{tmp_path}/jobs.db", max_workers=1)

@s.task
def first():
    print("first", flush=True)
    time.sleep(60)

@s.task
def second():
    print("second", flush=True)

with s:
    if sys.argv[1] == "create":
        moment = datetime.now(UTC).replace(microsecond=0)
        s.sync.create("first", first, at=moment + timedelta(seconds=4))
        s.sync.create("second", second, at=moment + timedelta(seconds=5))
    time.sleep(60)
"""
    )
    command = [sys.executable, str(program)]
    with subprocess.Popen([*command, "create"], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout.readline() == "first\n"
        time.sleep(5)  # the second is due, and waits
        one.kill()
    with subprocess.Popen([*command, "continue"], stdout=subprocess.PIPE, text=True) as two:
        try:
            assert two.stdout.readline() == "second\n"
        finally:
            two.kill()


def test_async_functions_have_a_stated_number_of_coroutines():
    going, most = set(), [0]

    async def job(number):
        going.add(number)
        most[0] = max(most[0], len(going))
        await asyncio.sleep(0.2)
        going.discard(number)

    with Scheduler("memory:", max_coroutines=2) as s:
        for number in range(5):
            s.add(job, "daily", name=str(number), args=(number,))
        keys = [s.sync.trigger(str(number)) for number in range(5)]
        assert all(s.sync.result(key, timeout=20).succeeded for key in keys)
    assert most == [2]


def test_process_job_runs_in_another_process_with_its_run(tmp_path):
    with Scheduler(f"sqlite:{tmp_path}/jobs.db") as s:
        arguments = {"args": (str(tmp_path / "out"),), "kwargs": {"word": "hello"}}
        s.add(f"{HERE}:write_down", "daily", name="job", executor="process", **arguments)
        assert s.sync.result(s.sync.trigger("job"), timeout=50).succeeded
    pid, *words = (tmp_path / "out").read_text(encoding="utf-8").split()
    assert int(pid) != os.getpid()
    assert words == ["hello", "job", "1"]


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("fail", ("it failed",), "LookupError: it failed"),
        ("be_killed", (), "the child process was ended by SIGKILL before the function returned"),
        ("leave", (), "the child process ended with exit code 7 before the function returned"),
    ],
)
def test_process_job_that_ends_badly_is_a_failed_run_that_says_why(name, args, text, caplog, tmp_path):
    with Scheduler(f"sqlite:{tmp_path}/jobs.db") as s:
        s.add(getattr(process_jobs, name), "daily", executor="process", args=args)
        run = s.sync.result(s.sync.trigger(name), timeout=50)
    assert (run.state, run.reason) == ("failed", "failed")
    assert text in caplog.text


@pytest.mark.parametrize(
    ("function", "args", "code"),
    [
        (lambda: None, (), "NOT_IMPORTABLE"),
        (process_jobs.wait, (), "BAD_OPTION"),
        (process_jobs.fail, (threading.Lock(),), "BAD_ARGUMENTS"),
    ],
)
def test_process_job_that_cannot_run_is_refused(function, args, code):
    with pytest.raises(UsageError) as refused:
        Scheduler("memory:").add(function, "daily", name="job", executor="process", args=args)
    assert refused.value.code == code


def test_executor_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="executor cannot be 'pool'"):
        Scheduler("memory:").add(print, "daily", executor="pool")


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "4"])
def test_coroutines_that_are_no_number_are_refused(limit):
    with pytest.raises(UsageError, match="max_coroutines cannot be"):
        Scheduler("memory:", max_coroutines=limit)
