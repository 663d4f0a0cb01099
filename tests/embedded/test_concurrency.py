"""Limits of concurrent functions, and functions in child processes."""

import asyncio
import os
import threading

import pytest

from kron import Scheduler, UsageError
from tests.embedded import process_jobs

HERE = "tests.embedded.process_jobs"


def test_waiting_run_is_enqueued_and_not_started_and_not_skipped(tmp_path):
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
        states = [s.sync.runs(name)[0].state for name in "bc"]
        started_first = list(seen)
        assert "kron_runs_started_total 1" in s.metrics().splitlines()
        gate.set()
        assert [s.sync.result(key, timeout=20).state for key in keys.values()] == ["success"] * 3
    assert states == ["enqueued", "enqueued"]
    assert started_first == ["a"]
    assert sorted(seen) == ["a", "b", "c"]
    assert skipped == []


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
