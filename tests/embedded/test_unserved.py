"""Jobs of tasks that no living process registers: one warning at the start names the functions."""

import asyncio
import logging
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from kron import Scheduler
from kron.apps.embedded import unserved

LOG = "kron.scheduler"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    return f"sqlite:{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(unserved, "FIRST_CHECK_SECONDS", 0.5)


def application(url, *tasks):
    s = Scheduler(url)
    for name in tasks:
        s.task(print, name=name)
    return s


def warnings(caplog):
    return [
        record.getMessage() for record in caplog.records if record.name == LOG and record.levelno >= logging.WARNING
    ]


def wait(s, seconds=1.5):
    """Let the scheduler make its first check."""
    threading.Event().wait(seconds)
    s.sync.jobs()


def test_renamed_function_is_told_once_with_the_number_of_its_jobs(url, caplog):
    with application(url, "send_reminder", "other") as old:
        old.sync.create("a", "send_reminder", every="1h")
        old.sync.create("b", "send_reminder", at=datetime(2099, 1, 1, tzinfo=UTC))
        old.sync.create("c", "other", every="1h")
    with application(url, "send_mail", "other") as new:
        wait(new)
    (warning,) = warnings(caplog)
    assert warning.startswith("no living process registers the function 'send_reminder', so 2 jobs cannot run; ")
    assert "@s.task(name=...)" in warning


def test_jobs_that_another_process_serves_are_not_told(url, caplog):
    with application(url, "theirs") as other:
        other.sync.create("a", "theirs", every="1h")
        with application(url, "ours") as own:
            wait(own)
    assert warnings(caplog) == []


def test_jobs_that_are_over_paused_or_declared_are_not_told(url, caplog):
    with application(url, "work") as old:
        old.add(print, "daily", name="declared")
        old.sync.create("paused", "work", every="1h")
        old.sync.pause("paused")
        job = old.sync.create("over", "work", at=datetime.now(UTC) + timedelta(seconds=4))
        while [run.state for run in old.sync.runs(job.name)] != ["success"]:
            threading.Event().wait(0.05)
    with application(url) as new:
        wait(new)
    assert warnings(caplog) == []


def test_process_that_runs_no_jobs_does_not_warn(url, caplog):
    with application(url, "work") as old:
        old.sync.create("a", "work", every="1h")
    with Scheduler(url, run_jobs=False) as web:
        wait(web)
    assert warnings(caplog) == []


def test_process_that_was_killed_is_told_after_its_lease():
    seconds = []

    class Timer:
        async def sleep(self, duration):
            seconds.append(duration)

    class Empty:
        async def identities(self, after, limit):
            return []

    asyncio.run(unserved._watch(Empty(), None, Timer(), 15.0))
    assert seconds == [0.5, 15.5]


def test_warning_has_at_most_ten_names():
    counts = Counter({f"f{number:02}": 20 - number for number in range(13)})
    text = unserved.warning_of(counts, is_complete=False)
    assert "functions 'f00', 'f01', " in text
    assert "'f09' and 3 more, so at least 182 jobs cannot run" in text
    assert "f10" not in text


def test_read_of_the_store_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(unserved, "MAX_JOBS_READ", 4)
    monkeypatch.setattr(unserved, "_PAGE_SIZE", 2)
    url = f"sqlite:{tmp_path}/jobs.db"
    with application(url, "work") as old:
        for number in range(6):
            old.sync.create(f"job-{number}", "work", every="1h")
    with application(url) as new:
        counts, is_complete = new.sync._wait(
            unserved.unserved(new._inside.registrar.store, new._inside.functions.registry)
        )
    assert (counts, is_complete) == ({"work": 4}, False)
