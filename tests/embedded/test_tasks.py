"""The life of a task: its three states, its timestamps, retries and what supersedes them."""

import asyncio
import logging

import pytest

from kron.apps.declarative.persisted import TaskState
from kron.timing.zone import instant_of
from tests.embedded.stage import play

NOON = instant_of("2026-03-10T12:00:20Z") * 1000


def told(stage, *names):
    """The events of a task, with the second after the beginning."""
    return [
        (event.name, (event.at - NOON) / 1000)
        for event in stage.heard.events
        if event.name.startswith("Task") and (not names or event.name in names)
    ]


@pytest.mark.req("DECL-TASK-STATES", "DECL-TASK-DEFS", "DECL-TASK-RUN-ACT", "DECL-TASK-SUCCESS", "DECL-TASK-FAIL")
@pytest.mark.req("DECL-TASK-RETRY", "DECL-TS-ATTEMPT", "DECL-TS-SUCCESS", "DECL-TS-RETRY")
def test_a_task_in_each_of_its_states():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "1 12 * * *", 30, lasts=10, fails=1)])

        await stage.until("2026-03-10T12:00:50Z")
        waiting = await stage.record("a")
        assert waiting.state is TaskState.AWAITING_RUN
        assert (waiting.last_attempt_at, waiting.last_success_at, waiting.pending_retry_until) == (None, None, None)

        await stage.until("2026-03-10T12:01:05Z")
        running = await stage.record("a")
        started = instant_of("2026-03-10T12:01:00Z") * 1000
        assert running.state is TaskState.RUNNING
        assert (running.last_attempt_at, running.last_success_at, running.pending_retry_until) == (started, None, None)

        await stage.until("2026-03-10T12:01:15Z")
        failed = await stage.record("a")
        assert failed.state is TaskState.AWAITING_RETRY
        assert failed.last_failure_at == started + 10_000
        assert failed.pending_retry_until == started + 40_000
        assert (failed.last_attempt_at, failed.last_success_at) == (started, None)

        await stage.until("2026-03-10T12:01:45Z")
        again = await stage.record("a")
        assert again.state is TaskState.RUNNING
        assert (again.last_attempt_at, again.pending_retry_until) == (started + 40_000, None)

        await stage.until("2026-03-10T12:02:00Z")
        done = await stage.record("a")
        assert done.state is TaskState.AWAITING_RUN
        assert (done.last_success_at, done.pending_retry_until) == (started + 50_000, None)
        assert done.last_attempt_at == started + 40_000
        await scheduler.stop()

    stage = play(script)
    said = [("TaskRunStarted", 40), ("TaskRunFailed", 50), ("TaskRetryStarted", 80), ("TaskRunCompleted", 90)]
    assert told(stage) == said


@pytest.mark.req("DECL-TASK-RUN-ACT", "DECL-TS-ATTEMPT")
def test_an_attempt_is_recorded_before_the_callback_begins():
    async def script(stage):
        seen = []

        async def callback():
            seen.append(await stage.record("a"))

        scheduler = stage.scheduler()
        await scheduler.initialize([("a", "* * * * *", callback, stage.task("x", "* * * * *")[3])])
        await asyncio.sleep(1)
        await scheduler.stop()
        assert [(one.state, one.last_attempt_at) for one in seen] == [(TaskState.RUNNING, NOON)]

    play(script)


@pytest.mark.req("DECL-TASK-RETRY")
@pytest.mark.parametrize("delay", [1, 5, 59, 61, 600])
def test_a_retry_starts_when_its_time_has_come_and_not_before(delay):
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "0 12 * * *", delay, fails=2)])
        await asyncio.sleep(2000)
        await scheduler.stop()

    starts = [at for _, at in told(play(script), "TaskRunStarted", "TaskRetryStarted")]
    assert starts == [0, delay, 2 * delay]


def test_a_delay_of_nothing_does_not_spin():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "0 12 * * *", 0, fails=999)])
        await asyncio.sleep(30)
        await scheduler.stop()

    assert 25 <= len(play(script).ran) <= 32


@pytest.mark.req("DECL-TASK-PREEMPT")
def test_a_newer_due_supersedes_a_retry():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "* * * * *", 300, fails=2)])
        await asyncio.sleep(400)
        await scheduler.stop()

    stage = play(script)
    assert told(stage)[:8] == [
        ("TaskRunStarted", 0),
        ("TaskRunFailed", 0),
        ("TaskRetryPreempted", 40),
        ("TaskRunStarted", 40),
        ("TaskRunFailed", 40),
        ("TaskRetryPreempted", 100),
        ("TaskRunStarted", 100),
        ("TaskRunCompleted", 100),
    ]
    assert told(stage, "TaskRetryStarted") == []  # not even after the delay
    assert len(stage.ran) == 8


def test_a_retry_and_a_due_in_the_same_minute_are_one_run():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "* * * * *", 40, fails=1)])
        await asyncio.sleep(50)
        await scheduler.stop()

    assert told(play(script)) == [
        ("TaskRunStarted", 0),
        ("TaskRunFailed", 0),
        ("TaskRetryPreempted", 40),
        ("TaskRunStarted", 40),
        ("TaskRunCompleted", 40),
    ]


@pytest.mark.req("DECL-TASK-SUCCESS")
def test_a_success_clears_the_retry():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "0,1 12 * * *", 300, fails=1)])
        await asyncio.sleep(3000)
        await scheduler.stop()

    assert play(script).times() == ["2026-03-10T12:00:20Z", "2026-03-10T12:01:00Z"]


@pytest.mark.req("DECL-CONC-SERIAL", "DECL-THEORY-DUEPENDING")
def test_dues_during_a_run_are_one_run_after_it():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "* * * * *", lasts=200)])
        await asyncio.sleep(450)
        await scheduler.stop()

    assert [at for _, at in told(play(script), "TaskRunStarted")] == [0, 200, 400]


def test_a_run_that_fails_after_a_newer_due_gives_way_to_it():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "* * * * *", 600, lasts=90, fails=1)])
        await asyncio.sleep(100)
        await scheduler.stop()

    names = [name for name, _ in told(play(script))]
    assert names[:4] == ["TaskRunStarted", "TaskRunFailed", "TaskRetryPreempted", "TaskRunStarted"]


@pytest.mark.req("DECL-DET-SAME", "DECL-DET-SELECT")
def test_the_same_beginning_has_the_same_end():
    async def script(stage):
        scheduler = stage.scheduler()
        tasks = [stage.task(n, c, 7, lasts=3, fails=2) for n, c in (("a", "* * * * *"), ("b", "3,4 * * * *"))]
        await scheduler.initialize(tasks)
        await asyncio.sleep(1000)
        await scheduler.stop()

    first, second = play(script), play(script)
    assert set(first.ran) == set(second.ran)
    assert len(first.ran) > 20


@pytest.mark.req("DECL-RT-SURFACE")
def test_a_start_that_is_late_is_complained_of(caplog):
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "1 12 * * *")])
        await asyncio.sleep(5)
        stage.clock.step(600)  # a machine that slept
        await asyncio.sleep(100)
        await scheduler.stop()

    with caplog.at_level(logging.WARNING, "kron.declarative"):
        stage = play(script)
    (started,) = stage.heard.named("TaskRunStarted")
    assert started.facts["latenessMs"] == 600_000
    assert "task 'a' starts 600 s late" in caplog.text


def test_a_store_that_fails_for_a_while_loses_nothing(caplog):
    class Moody:
        def __init__(self, store):
            self.store, self.broken = store, False

        def __getattr__(self, name):
            async def call(*given, **named):
                if self.broken:
                    raise ConnectionError("not now")
                return await getattr(self.store, name)(*given, **named)

            return call

    async def script(stage):
        moody = Moody(stage.store)
        scheduler = stage.scheduler(store=moody)
        await scheduler.initialize([stage.task("a", "0,10 12 * * *", 5, lasts=30)])
        await asyncio.sleep(10)
        moody.broken = True  # the end of the first run and the second due fall into it
        await asyncio.sleep(700)
        moody.broken = False
        await asyncio.sleep(120)
        assert (await stage.record("a")).state is TaskState.AWAITING_RUN
        await scheduler.stop()

    with caplog.at_level(logging.CRITICAL):
        stage = play(script)
    assert [name for name, _ in told(stage)] == ["TaskRunStarted", "TaskRunCompleted"] * 2
    assert len(stage.ran) == 2
