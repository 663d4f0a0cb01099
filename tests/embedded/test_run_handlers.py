"""Handlers of run events: what they receive, in which thread, and that they never harm a run."""

import asyncio
import threading
import time

import pytest

from kron import RunEvent, Scheduler, UsageError
from kron.engine.clock import ManualClock
from kron.testing import travel
from kron.timing.zone import instant_of

KINDS = ("started", "succeeded", "failed", "missed", "skipped")


def watch(s, seen, wrap=lambda function: function):
    for kind in KINDS:
        getattr(s, f"on_run_{kind}")(wrap(seen.append))


def asynchronous(function):
    async def handler(event):
        function(event)

    return handler


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_start_and_success_are_told_with_key_and_duration(kind, request, tmp_path):
    urls = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path}/jobs.db"}
    s, seen = Scheduler(urls.get(kind) or request.getfixturevalue("database")), []
    watch(s, seen)
    s.add(print, "daily", name="job", args=("",), timezone="Europe/Paris")
    with s:
        run = s.sync.result(s.sync.trigger("job"), timeout=20)
    assert [event.kind for event in seen] == ["started", "succeeded"]
    assert all(isinstance(event, RunEvent) for event in seen)
    assert {(event.job, event.key, event.attempt, event.count) for event in seen} == {("job", run.key, 1, 1)}
    assert {event.period for event in seen} == {run.period}
    assert {str(event.period.tzinfo) for event in seen} == {"Europe/Paris"}
    assert seen[1].duration >= 0
    assert (seen[1].state, seen[1].error) == ("success", None)


def test_success_of_a_transaction_is_told(database):
    s, seen = Scheduler(database), []
    watch(s, seen)

    async def job(connection):
        await connection.execute("SELECT 1")

    s.add(job, "daily", transaction=True)
    with s:
        s.sync.result(s.sync.trigger("job"), timeout=20)
    assert [event.kind for event in seen] == ["started", "succeeded"]
    assert seen[1].duration >= 0


def test_failure_has_its_exception_and_says_whether_it_is_retried():
    trip, seen = travel("2026-03-10 12:00:20 UTC"), []

    async def script(trip):
        s = Scheduler("memory:", clock=trip.clock, timer=trip.timer)
        watch(s, seen, asynchronous)
        left = [2]

        @s.cron("5 12 * * *", retry_delay="30s")
        async def job():
            await asyncio.sleep(3)
            left[0] -= 1
            if left[0]:
                raise ValueError("it failed")

        @s.cron("6 12 * * *")
        async def hopeless():
            raise LookupError("it failed")

        async with s:
            await asyncio.sleep(600)

    trip.run(script)
    trip.close()
    of_job = [event for event in seen if event.job == "job"]
    assert [(event.kind, event.attempt) for event in of_job] == [
        ("started", 1),
        ("failed", 1),
        ("started", 2),
        ("succeeded", 2),
    ]
    assert (type(of_job[1].error), of_job[1].will_retry, of_job[1].state) == (ValueError, True, "waiting")
    assert [event.duration for event in of_job] == [None, 3.0, None, 3.0]
    _, failed = [event for event in seen if event.job == "hopeless"]
    assert (type(failed.error), failed.will_retry, failed.reason) == (LookupError, False, "failed")


def test_every_attempt_that_exceeds_its_time_limit_is_told():
    trip, seen = travel("2026-03-10 12:00:20 UTC"), []

    async def script(trip):
        s = Scheduler("memory:", clock=trip.clock, timer=trip.timer)
        watch(s, seen, asynchronous)

        @s.cron("5 12 * * *", timeout="10s", retry_delay="30s", retry_attempts=2)
        async def hangs():
            await asyncio.sleep(3600)

        async with s:
            await asyncio.sleep(1200)

    trip.run(script)
    trip.close()
    failed = [event for event in seen if event.kind == "failed"]
    assert [(event.attempt, event.state, event.reason, event.will_retry) for event in failed] == [
        (1, "waiting", "timeout", True),
        (2, "waiting", "timeout", True),
        (3, "failed", "timeout", False),
    ]


def test_skipped_and_missed_periods_are_told_with_their_reason():
    trip, seen = travel("2026-03-10 12:00:20 UTC"), []

    async def script(trip):
        s = Scheduler("memory:", clock=trip.clock, timer=trip.timer)
        watch(s, seen, asynchronous)

        @s.cron("1,2 12 * * *")
        async def slow():
            await asyncio.sleep(90)

        @s.kron("0 13 * * * @win(after,1h) @only(hours=3-4)")
        async def closed(): ...

        async with s:
            await asyncio.sleep(2 * 3600)

    trip.run(script)
    trip.close()
    (skipped,) = [event for event in seen if event.kind == "skipped"]
    assert (skipped.job, skipped.reason, skipped.period.minute, skipped.attempt) == ("slow", "overlap", 2, 0)
    assert [(event.job, event.reason) for event in seen if event.kind == "missed"] == [("closed", "constraints")]


def test_periods_of_a_downtime_are_counted(tmp_path):
    seen, clock = [], ManualClock(instant_of("2026-03-10T12:30:00Z"))

    def scheduler():
        s = Scheduler(f"sqlite:{tmp_path}/jobs.db", clock=clock)
        s.add(print, "0 * * * *", dialect="posix", name="job", args=("",), catchup="none")
        s.on_run_missed(seen.append)
        return s

    with scheduler():
        pass
    clock.advance(10 * 3600)
    with scheduler():
        limit = time.monotonic() + 20
        while sum(event.count for event in seen) < 10 and time.monotonic() < limit:
            time.sleep(0.02)
    assert sum(event.count for event in seen) == 10
    assert {event.reason for event in seen} == {"catchup_none"}
    assert min(event.period.hour for event in seen) == 13


def test_handler_that_raises_is_logged_and_harms_nothing(caplog, tmp_path):
    s, seen = Scheduler(f"sqlite:{tmp_path}/jobs.db"), []

    @s.on_run_started
    def broken(event):
        raise ValueError("the chat is down")

    @s.on_run_started
    async def broken_too(event):
        raise ValueError("the chat is down")

    s.on_run_succeeded(seen.append)
    s.add(print, "daily", name="job", args=("",))
    with s:
        assert s.sync.result(s.sync.trigger("job"), timeout=20).state == "success"
    assert len(seen) == 1
    assert "handler broken of a run event failed" in caplog.text
    assert "handler broken_too of a run event failed" in caplog.text


def test_plain_handler_runs_in_a_thread_and_can_trigger_another_job(tmp_path):
    s, keys = Scheduler(f"sqlite:{tmp_path}/jobs.db"), []

    @s.on_run_succeeded
    def chain(event):
        if event.job == "first":
            keys.append(s.sync.trigger("second"))

    s.add(print, "daily", name="first", args=("",))
    s.add(print, "daily", name="second", args=("",))
    with s:
        s.sync.result(s.sync.trigger("first"), timeout=20)
        while not keys:
            time.sleep(0.02)
        assert s.sync.result(keys[0], timeout=20).succeeded


def test_handler_that_hangs_does_not_stop_the_shutdown(tmp_path):
    s, gate = Scheduler(f"sqlite:{tmp_path}/jobs.db", shutdown_timeout=1), threading.Event()
    s.on_run_started(lambda event: gate.wait(30))
    s.add(print, "daily", name="job", args=("",))
    with s:
        s.sync.result(s.sync.trigger("job"), timeout=20)
    gate.set()


def test_handler_that_is_no_function_is_refused():
    with pytest.raises(UsageError):
        Scheduler("memory:").on_run_failed("mail")


def test_metrics_count_starts_and_ends(tmp_path):
    def fails():
        raise ValueError("it failed")

    s = Scheduler(f"sqlite:{tmp_path}/jobs.db")
    s.add(print, "daily", name="job", args=("",))
    s.add(fails, "daily")
    with s:
        for name in ("job", "job", "fails"):
            s.sync.result(s.sync.trigger(name), timeout=20)
        lines = s.metrics().splitlines()
    assert "kron_runs_started_total 3" in lines
    assert 'kron_runs_finished_total{state="success"} 2' in lines
    assert 'kron_runs_finished_total{state="failed"} 1' in lines
