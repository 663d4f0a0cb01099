"""The log of an embedded scheduler: one line for each event that matters, to `kron.scheduler`, and none while idle."""

import asyncio
import logging
import re
import threading

import pytest

from kron import Scheduler, StoreUnavailable

LOG = "kron.scheduler"
NEVER = "0 0 1 1 *"


@pytest.fixture(autouse=True)
def at_info(caplog):
    caplog.set_level(logging.INFO, LOG)


def said(caplog, least=logging.INFO):
    return [record.getMessage() for record in caplog.records if record.name == LOG and record.levelno >= least]


async def until(condition, seconds=20):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


def test_idle_scheduler_logs_nothing(caplog):
    async def script():
        async with Scheduler("memory:") as s:
            s.add(lambda: None, NEVER, dialect="posix", name="job")
            await asyncio.sleep(0.3)

    asyncio.run(script())
    assert said(caplog) == []


def test_run_that_succeeds_is_a_line_for_its_start_and_its_end(caplog):
    async def script():
        async with Scheduler("memory:") as s:
            s.add(lambda: None, NEVER, dialect="posix", name="job")
            await s.trigger("job")
            await until(lambda: len(said(caplog)) == 2)

    asyncio.run(script())
    start, end = said(caplog)
    assert start.startswith("run of job for ")
    assert start.endswith(" started, attempt 1")
    assert re.fullmatch(r"run of job for .* succeeded in [0-9.]+ s", end)
    records = [record for record in caplog.records if record.name == LOG]
    assert [record.kron["event"] for record in records] == ["run_started", "run_finished"]
    assert records[1].kron["duration_ms"] >= 0


def test_run_that_fails_is_one_line_with_its_traceback(caplog):
    async def script():
        async with Scheduler("memory:") as s:
            s.add(lambda: 1 / 0, NEVER, dialect="posix", name="job")
            await s.trigger("job")
            await until(lambda: said(caplog, logging.ERROR))

    asyncio.run(script())
    assert said(caplog)[1:] == ["job 'job' failed"]
    assert "ZeroDivisionError" in caplog.text


def test_run_that_cancels_itself_is_one_line(caplog):
    async def gives_up():
        raise asyncio.CancelledError

    async def script():
        async with Scheduler("memory:") as s:
            s.add(gives_up, NEVER, dialect="posix", name="job")
            await s.trigger("job")
            await until(lambda: said(caplog, logging.WARNING))

    asyncio.run(script())
    assert said(caplog)[1:] == ["job 'job' was canceled"]


@pytest.mark.parametrize("function", [asyncio.Event().wait, lambda: threading.Event().wait(3)], ids=["async", "plain"])
def test_attempt_that_times_out_is_a_line_with_the_time_limit(caplog, function):
    async def script():
        async with Scheduler("memory:") as s:
            options = {"timeout": "1s", "retry_delay": "1s", "retry_attempts": 1}
            s.add(function, NEVER, dialect="posix", name="job", **options)
            await s.result(await s.trigger("job"), timeout=30)

    asyncio.run(script())
    first, last = (line for line in said(caplog, logging.WARNING) if "time limit" in line)
    assert re.fullmatch(r"run of job for .*: attempt 1 exceeded its time limit of 1 s; Kron will retry", first)
    assert re.fullmatch(r"run of job for .* failed: timeout, its time limit is 1 s", last)


def test_skipped_run_says_why(caplog):
    async def script():
        async with Scheduler("memory:") as s:
            s.add(asyncio.Event().wait, NEVER, dialect="posix", name="job")
            await s.trigger("job")
            await s.trigger("job")
            await until(lambda: [line for line in said(caplog) if "skipped" in line])
            s.patience = 0

    asyncio.run(script())
    assert [line for line in said(caplog) if line.endswith("skipped: overlap")]


def test_sink_hears_the_end_of_runs():
    heard = []

    async def script():
        async with Scheduler("memory:", on_event=heard.append) as s:
            s.add(lambda: None, NEVER, dialect="posix", name="job")
            await s.trigger("job")
            await until(lambda: [e for e in heard if e.name == "run_finished"])

    asyncio.run(script())
    assert [e.facts["state"] for e in heard if e.name == "run_finished"] == ["success"]


def test_outage_of_the_store_is_told_when_it_begins_and_ends(caplog, monkeypatch):
    monkeypatch.setattr("kron.engine.worker.OUTAGE_PAUSE_SECONDS", 0.1)

    async def script():
        async with Scheduler("memory:") as s:
            store = s._inside.registrar.store
            poll, failed = store.poll, []

            async def fails(shares):
                failed.append(1)
                raise StoreUnavailable("STORE_FAILED", "the database: gone")

            store.poll = fails
            s._inside.worker.notify()
            await until(lambda: len(failed) >= 3)
            store.poll = poll
            await until(lambda: len(said(caplog)) >= 2)

    asyncio.run(script())
    lost, back = said(caplog)
    assert lost == "store unavailable: the database: gone"
    assert back.startswith("store available again after ")
    assert "Traceback" not in caplog.text
