"""A scheduler in the background: start and shutdown in plain code, and blocking requests."""

import asyncio
import inspect
import os
import subprocess
import sys
import threading
import time

import pytest

from kron import KronError, Scheduler, StoreUnavailable, Unavailable, UsageError, current_run
from kron.apps.embedded import running
from kron.apps.embedded.blocking_jobs import BlockingJobs
from kron.apps.embedded.blocking_requests import BlockingRequests
from kron.apps.embedded.requests import Requests
from kron.apps.embedded.task_jobs import TaskJobs
from kron.apps.wiring import open_store
from kron.rules.run_state import State


def wait_for(condition, seconds=20):
    until_then = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until_then
        time.sleep(0.02)


@pytest.fixture
def scheduler(tmp_path):
    s = Scheduler(f"sqlite:{tmp_path}/jobs.db", shutdown_timeout=5)
    yield s
    s.shutdown()


def public_methods(kind):
    return {name: method for name, method in vars(kind).items() if not name.startswith("_")}


def test_start_returns_when_the_scheduler_runs(scheduler):
    called = []
    scheduler.add(lambda: called.append(threading.current_thread().name), "daily", name="job")
    scheduler.start()
    assert len(scheduler.sync.trigger("job")) == 64
    wait_for(lambda: called)
    scheduler.shutdown()
    with pytest.raises(UsageError, match="not running"):
        scheduler.sync.trigger("job")


def test_every_request_has_a_blocking_form_of_the_same_signature():
    asynchronous, blocking = public_methods(Requests), public_methods(BlockingRequests)
    assert asynchronous.keys() == blocking.keys()
    assert all(map(inspect.iscoroutinefunction, asynchronous.values()))
    for name, method in blocking.items():
        assert inspect.signature(method) == inspect.signature(asynchronous[name]), name
    jobs = public_methods(TaskJobs)
    for name in public_methods(BlockingJobs).keys() - blocking.keys():
        assert inspect.signature(getattr(BlockingJobs, name)) == inspect.signature(jobs[name]), name


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_blocking_requests_control_a_job(kind, request, tmp_path):
    url = f"sqlite:{tmp_path}/jobs.db" if kind == "sqlite" else request.getfixturevalue("database")
    called = []
    with Scheduler(url) as s:
        s.add(lambda: called.append(1), "daily", name="job")
        s.sync.pause("job")
        s.sync.resume("job")
        s.sync.trigger("job")
        wait_for(lambda: called)
        assert s.sync.next("job") is not None
        assert s.sync.why("job").identity == "job"
        s.sync.delete("job")
        with pytest.raises(KronError, match=r"job .* does not exist"):
            s.sync.next("job")


def test_requests_stay_awaitable_from_any_event_loop(scheduler):
    scheduler.add(print, "daily", name="job")
    scheduler.start()
    assert asyncio.run(scheduler.next("job")) == scheduler.sync.next("job")


def test_plain_job_can_make_blocking_requests(scheduler):
    keys = []
    scheduler.add(lambda: keys.append(scheduler.sync.trigger("second")), "daily", name="first")
    scheduler.add(lambda: keys.append(current_run().key), "daily", name="second")
    scheduler.start()
    scheduler.sync.trigger("first")
    wait_for(lambda: len(keys) == 2)
    assert keys[0] == keys[1]


def test_blocking_request_in_an_event_loop_is_refused(scheduler):
    scheduler.add(print, "daily", name="job")
    scheduler.start()

    async def view():
        scheduler.sync.pause("job")

    with pytest.raises(UsageError, match=r"await s\.pause") as refused:
        asyncio.run(view())
    assert refused.value.code == "IN_A_LOOP"


def test_start_raises_the_error_of_the_start(tmp_path):
    s = Scheduler(f"sqlite:{tmp_path}/no/such/folder.db")
    with pytest.raises(StoreUnavailable):
        s.start()
    s.shutdown()


def test_second_start_is_refused_and_the_first_goes_on(scheduler):
    scheduler.add(print, "daily", name="job")
    scheduler.start()
    with pytest.raises(UsageError, match="running already"):
        scheduler.start()
    assert scheduler.sync.next("job") is not None


def test_scheduler_starts_again_after_its_shutdown(scheduler):
    called = []
    scheduler.add(lambda: called.append(1), "daily", name="job")
    for number in (1, 2):
        scheduler.start()
        scheduler.sync.trigger("job")
        wait_for(lambda n=number: len(called) == n)
        scheduler.shutdown()
    scheduler.shutdown()


def test_shutdown_waits_for_running_functions_and_records_them(scheduler, tmp_path):
    begun = threading.Event()

    def job():
        begun.set()
        time.sleep(0.5)

    scheduler.add(job, "daily")
    scheduler.start()
    key = scheduler.sync.trigger("job")
    assert begun.wait(20)
    scheduler.shutdown()

    async def state():
        async with open_store(f"sqlite:{tmp_path}/jobs.db") as store:
            return (await store.runs_by_key([key]))[0].state

    assert asyncio.run(state()) is State.SUCCESS


def test_shutdown_without_wait_and_in_a_job_returns_at_once(scheduler):
    took = []

    def job():
        before = time.monotonic()
        scheduler.shutdown()
        took.append(time.monotonic() - before)

    scheduler.add(job, "daily")
    scheduler.start()
    scheduler.sync.trigger("job")
    wait_for(lambda: took)
    assert took[0] < 3
    wait_for(lambda: not scheduler._is_entered)
    scheduler.start()
    scheduler.shutdown(wait=False)
    wait_for(lambda: not scheduler._is_entered)


def test_request_is_refused_when_the_event_loop_is_blocked(scheduler, monkeypatch):
    monkeypatch.setattr(running, "MAX_LOOP_WAIT_SECONDS", 0.2)
    monkeypatch.setattr(running, "LOOP_CHECK_SECONDS", 0.1)
    gate, begun = threading.Event(), threading.Event()

    async def blocks():
        begun.set()
        gate.wait(20)

    scheduler.add(blocks, "daily")
    scheduler.start()
    scheduler.sync.trigger("blocks")
    assert begun.wait(20)
    try:
        with pytest.raises(Unavailable, match="does not respond"):
            scheduler.sync.next("blocks")
    finally:
        gate.set()


SCRIPT = """
import sys, threading, time
from kron import Scheduler
s = Scheduler(sys.argv[1], shutdown_timeout=20)
begun = threading.Event()
def job():
    begun.set()
    time.sleep(0.5)
s.add(job, "daily")
s.start()
print(s.sync.trigger("job"), flush=True)
begun.wait(20)
"""


def test_script_that_ends_shuts_its_scheduler_down(tmp_path):
    """The function that is running at the end of the script is recorded, though the script forgot the shutdown."""
    url = f"sqlite:{tmp_path}/jobs.db"
    result = subprocess.run([sys.executable, "-c", SCRIPT, url], capture_output=True, text=True, timeout=50, check=True)
    assert result.stderr == ""

    async def state():
        async with open_store(url) as store:
            return (await store.runs_by_key([result.stdout.strip()]))[0].state

    assert asyncio.run(state()) is State.SUCCESS


FORKED = """
import os, sys
from kron import Scheduler, UsageError
s = Scheduler(sys.argv[1])
s.add(print, "daily", name="job", args=("ran in the parent",))
s.start()
if os.fork() == 0:
    for call in (lambda: s.sync.trigger("job"), s.start):
        try:
            call()
        except UsageError as error:
            print(error.code, flush=True)
    s.shutdown()
    sys.exit(0)
print("child ended with", os.wait()[1], flush=True)
print(s.sync.result(s.sync.trigger("job"), timeout=30).state, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_fork_of_a_running_scheduler_is_refused_and_ends(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, f"sqlite:{tmp_path}/jobs.db"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    lines = ["FORKED", "FORKED", "child ended with 0", "ran in the parent", "success"]
    assert result.stdout.splitlines() == lines, result.stderr
