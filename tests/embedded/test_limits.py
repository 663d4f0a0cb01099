"""Limits of jobs: a time limit of runs, retries with a maximum, and a maximum of runs at once."""

import asyncio
import threading
from datetime import timedelta

import pytest

from kron import KronError, Scheduler
from kron.apps.embedded.options import JobOptions, policy_of
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.schedule.policy import SECOND, Overlap
from tests.embedded.test_scheduler import ran, virtually


def last_run(script_seconds, function, **options):
    """The run of the first period of a job, after some seconds of virtual time."""

    async def script(s):
        s.cron("1 12 * * *", name="job", **options)(function)
        async with s:
            await asyncio.sleep(script_seconds)
            return (await s.why("job")).run

    return virtually(script)


def test_async_function_is_canceled_at_its_time_limit():
    ends = []

    async def job():
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            ends.append("canceled")
            raise

    run = last_run(60, job, timeout="5s")
    assert (run.state, run.outcome, run.reason, ends) == (
        State.FAILED,
        Outcome.EXECUTED,
        Reason.TIMEOUT,
        ["canceled"],
    )


def test_later_end_of_a_function_that_ignores_the_cancellation_changes_nothing():
    ends = []

    async def job():
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            await asyncio.sleep(10)
        ends.append("done")

    run = last_run(60, job, timeout="5s")
    assert (run.state, run.reason, ends) == (State.FAILED, Reason.TIMEOUT, ["done"])


def test_run_that_timed_out_is_retried_although_the_function_continues():
    starts = []

    async def job():
        starts.append(len(starts))
        try:
            await asyncio.sleep(3_600 if len(starts) == 1 else 1)
        except asyncio.CancelledError:
            await asyncio.sleep(20)

    run = last_run(60, job, timeout="5s", retry_delay="1s")
    assert (run.state, run.attempt, run.failures, starts) == (State.SUCCESS, 2, 1, [0, 1])


def test_time_limit_is_not_moved_by_heartbeats():
    async def job():
        await asyncio.sleep(3_600)

    run = last_run(700, job, timeout="10m")  # far longer than the run lease
    assert (run.state, run.reason) == (State.FAILED, Reason.TIMEOUT)
    assert run.changed - run.sent < 620_000


def test_plain_function_in_a_thread_fails_at_its_time_limit_while_it_continues():
    release, ends, finished = threading.Event(), [], []

    def keep(event):
        if event.name == "run_finished" and event.facts["state"] != "skipped":  # later periods overlap
            finished.append(event.facts)

    s = Scheduler("memory:", on_event=keep)

    @s.job("* * * * * *", dialect="service", timeout="1s")
    def job():
        release.wait(20)
        ends.append("done")

    async def script():
        async with s, asyncio.timeout(30):
            while not finished:
                await asyncio.sleep(0.05)
            assert not ends
            release.set()
            while not ends:
                await asyncio.sleep(0.05)

    asyncio.run(script())
    first = finished[0]
    assert (first["state"], first["outcome"], first["reason"]) == ("failed", "executed", "timeout")
    assert all(facts["key"] != first["key"] for facts in finished[1:])


def test_retries_end_after_their_maximum_with_growing_delays():
    times = ran("1 12 * * *", 300, dialect="kron", fails=99, retry_delay="1s", retry_attempts=3, retry_factor=4)
    assert times == [f"2026-03-10T12:01:{second}Z" for second in ("00", "01", "05", "21")]


@pytest.mark.parametrize(("name", "overlap"), [("BufferOne", "coalesce"), ("AllowAll", "allow"), ("queue", "queue")])
def test_overlap_has_the_names_of_temporal_as_aliases(name, overlap):
    assert policy_of(JobOptions(overlap=name)).overlap is Overlap(overlap)


def test_options_set_the_axes_of_the_policy():
    options = JobOptions(
        overlap="allow",
        overlap_limit=3,
        retry_delay="2s",
        retry_attempts=0,
        retry_max_delay=timedelta(minutes=1),
        retry_jitter=10,
        timeout="10m",
        max_runs=5,
        pause_on_failure=2,
    )
    policy = policy_of(options)
    assert (policy.max_runs, policy.pause_on_failure) == (5, 2)
    assert (policy.overlap_limit, policy.retry_attempts, policy.retry_jitter) == (3, 0, 10)
    assert (policy.retry_max_delay, policy.timeout) == (60 * SECOND, 600 * SECOND)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"timeout": "0s"}, "timeout cannot be '0s'"),
        ({"overlap_limit": 2}, "overlap_limit limits overlap"),
        ({"overlap": "allow", "overlap_limit": 0}, "overlap_limit cannot be 0"),
        ({"retry_attempts": 3}, "retry_attempts has no effect"),
        ({"retry_delay": "1s", "retry_attempts": True}, "retry_attempts cannot be True"),
        ({"retry_delay": "1s", "retry_factor": 0}, "retry_factor cannot be 0"),
        ({"overlap": "bufferone"}, "overlap cannot be 'bufferone'"),
        ({"max_runs": 0}, "max_runs cannot be 0"),
        ({"pause_on_failure": "3"}, "pause_on_failure cannot be '3'"),
    ],
)
def test_option_without_effect_or_out_of_range_is_rejected(options, says):
    with pytest.raises(KronError) as rejected:
        policy_of(JobOptions(**options))
    assert says in rejected.value.message
    assert rejected.value.hint


def test_job_runs_as_often_as_its_maximum_says():
    async def script(s):
        @s.job(every="10s", max_runs=3)
        async def job():
            s.seen()

        async with s:
            await asyncio.sleep(120)
            assert await s.next("job") is None
            return len(s.times), (await s.get("job")).runs_left, (await s.why("job")).summary()

    count, left, told = virtually(script)
    assert (count, left) == (3, 0)
    assert told == "no record: The schedule has had its 3 runs."


def test_job_is_paused_after_failures_in_a_row():
    ends = iter([True, False, True, True, True])

    async def script(s):
        @s.job(every="10s", pause_on_failure=2)
        async def job():
            s.seen()
            if next(ends):
                raise ValueError("it failed")

        async with s:
            await asyncio.sleep(120)
            info = await s.get("job")
            lines = "\n".join((await s.why("job")).lines())
            await s.resume("job")
            await asyncio.sleep(15)
            return len(s.times), info.paused, lines

    count, paused, told = virtually(script)
    assert (count, paused) == (5, True)
    assert "paused by kron" in told
    assert "2 runs failed in a row" in told


def test_created_job_of_a_task_has_the_limits():
    async def script(s):
        @s.task
        async def remind():
            s.seen()

        async with s:
            made = await s.create("reminder", remind, every="10s", max_runs=2, pause_on_failure=1)
            await asyncio.sleep(60)
            return made.runs_left, len(s.times)

    assert virtually(script) == (2, 2)


def test_created_job_is_deleted_after_its_last_run_if_asked():
    async def script(s):
        @s.task
        async def remind():
            s.seen()

        async with s:
            await s.create("reminder", remind, every="10s", max_runs=2, after_end="delete")
            await s.create("kept", remind, every="10s", max_runs=1)
            await asyncio.sleep(60)
            return [job.name for job in await s.jobs()], len(s.times)

    assert virtually(script) == (["kept"], 3)


def test_wrong_after_end_names_the_values():
    s = Scheduler("memory:")

    @s.task
    def remind():
        pass

    with s, pytest.raises(KronError, match="after_end cannot be 'remove'") as caught:
        s.sync.create("reminder", remind, "daily", after_end="remove")
    assert "keep, delete" in caught.value.hint


def test_plain_code_creates_a_job_with_the_limits():
    s = Scheduler("memory:")

    @s.task
    def remind():
        pass

    with s:
        made = s.sync.create("reminder", remind, "daily", max_runs=2, pause_on_failure=1)
    assert made.runs_left == 2
