"""Queries of applications: jobs, runs, and the end of a run."""

import asyncio
import threading
from datetime import datetime

import pytest

from kron import JobInfo, KronError, NotFound, RunInfo, Scheduler, UsageError
from kron.testing import travel


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request, tmp_path):
    urls = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path}/jobs.db"}
    return urls.get(request.param) or request.getfixturevalue("database")


def test_jobs_are_listed_by_name_and_prefix(url):
    with Scheduler(url) as s:
        for name in ("b/2", "a/1", "b/1"):
            s.add(print, "daily around 14:00", name=name, timezone="Europe/Paris")
        assert [job.name for job in s.sync.jobs()] == ["a/1", "b/1", "b/2"]
        assert [job.name for job in s.sync.jobs("b/")] == ["b/1", "b/2"]
        assert [job.name for job in s.sync.jobs(limit=1, after="a/1")] == ["b/1"]
        s.sync.delete("b/2")
        assert [job.name for job in s.sync.jobs("b/")] == ["b/1"]


def test_job_says_its_schedule_and_next_run(url):
    with Scheduler(url) as s:
        s.add(print, "0 9 * * *", dialect="posix", name="post", timezone="Europe/Paris")
        job = s.sync.get("post")
        assert isinstance(job, JobInfo)
        assert (job.name, job.schedule, job.timezone) == ("post", "0 9 * * *", "Europe/Paris")
        assert (job.paused, job.revision, job.declared) == (False, 1, True)
        assert job.next_run == s.sync.next("post")
        assert (job.next_run.hour, str(job.next_run.tzinfo)) == (9, "Europe/Paris")
        s.sync.pause("post")
        assert s.sync.get("post").paused
        with pytest.raises(NotFound):
            s.sync.get("other")


def test_job_of_another_process_is_not_declared_here(tmp_path):
    url = f"sqlite:{tmp_path}/jobs.db"
    with Scheduler(url) as first, Scheduler(url) as second:
        first.add(print, "daily", name="job")
        assert (first.sync.get("job").declared, second.sync.get("job").declared) == (True, False)


def test_result_waits_for_the_end_of_a_run(url):
    gate = threading.Event()

    def fails():
        raise ValueError("it failed")

    with Scheduler(url) as s:
        s.add(lambda: gate.wait(20), "daily", name="slow")
        s.add(fails, "daily")
        key = s.sync.trigger("slow")
        with pytest.raises(TimeoutError, match=key):
            s.sync.result(key, timeout=0.2)
        gate.set()
        run = s.sync.result(key, timeout=20)
        assert isinstance(run, RunInfo)
        assert (run.key, run.job, run.state, run.outcome, run.reason) == (key, "slow", "success", "executed", None)
        assert run.succeeded
        assert run.triggered
        assert run.attempt == 1
        assert run.created_at <= run.launched_at <= run.ended_at
        failure = s.sync.result(s.sync.trigger("fails"), timeout=20)
        assert (failure.state, failure.outcome, failure.reason) == ("failed", "executed", "failed")
        assert not failure.succeeded
        with pytest.raises(NotFound):
            s.sync.result("0" * 64)


def test_result_of_a_run_in_another_process_is_seen(tmp_path):
    url = f"sqlite:{tmp_path}/jobs.db"
    with Scheduler(url) as first, Scheduler(url) as second:
        first.add(print, "daily", name="job", args=("",))
        key = second.sync.trigger("job")
        assert second.sync.result(key, timeout=30).state == "success"


def test_result_ends_with_the_scheduler(tmp_path):
    gate, errors = threading.Event(), []
    s = Scheduler(f"sqlite:{tmp_path}/jobs.db", shutdown_timeout=0)
    s.add(lambda: gate.wait(20), "daily", name="hung")
    s.start()
    key = s.sync.trigger("hung")

    def wait():
        try:
            s.sync.result(key)
        except KronError as error:
            errors.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not s._inside.ends.waiting:
        pass
    s.shutdown()
    waiting.join(20)
    gate.set()
    assert not waiting.is_alive()
    assert [type(error) for error in errors] == [UsageError]
    assert errors[0].code == "NOT_RUNNING"


def test_runs_are_listed_newest_first():
    trip = travel("2026-03-28 00:30 Europe/Paris")

    async def script(trip):
        s = Scheduler("memory:", clock=trip.clock, timer=trip.timer)

        @s.cron("0 12 * * *", timezone="Europe/Paris")
        async def noon():
            pass

        async with s:
            await asyncio.sleep(3 * 86_400)
            runs = await s.runs("noon")
            assert [run.key for run in await s.runs("noon", limit=1, before=runs[0].key)] == [runs[1].key]
            with pytest.raises(NotFound):
                await s.runs("other")
            return runs

    runs = trip.run(script)
    trip.close()
    assert [run.period.isoformat() for run in runs] == [
        "2026-03-30T12:00:00+02:00",
        "2026-03-29T12:00:00+02:00",
        "2026-03-28T12:00:00+01:00",
    ]
    assert {(run.state, run.triggered) for run in runs} == {("success", False)}
    assert all(isinstance(run.ended_at, datetime) for run in runs)
