"""The states of the scheduler and of its loop: what each call does in each of them, and what is said of it."""

import asyncio
import inspect

import pytest

from kron import DeclarativeScheduler
from kron.apps.declarative.errors import SchedulerAlreadyActiveError, SchedulerError
from kron.apps.declarative.polling import PollingState
from kron.apps.declarative.scheduler import SchedulerState
from tests.conftest import REQUIREMENTS
from tests.embedded.stage import play

HOURLY = "0 * * * *"
BEGIN = ["SchedulerInitializationStarted", "PollingStarted", "SchedulerInitializationCompleted"]
END = ["SchedulerStopRequested", "PollingStopRequested", "PollingStopped", "SchedulerStopped"]


@pytest.mark.req("DECL-API-TWO", "DECL-GLOSS-DECLARATIVE")
def test_there_are_exactly_two_methods():
    public = {name for name in dir(DeclarativeScheduler) if not name.startswith("_")}
    assert public == {"initialize", "stop"}
    assert not {name for name in vars(DeclarativeScheduler("memory:")) if not name.startswith("_")}
    assert list(inspect.signature(DeclarativeScheduler.initialize).parameters) == ["self", "registrations"]
    assert list(inspect.signature(DeclarativeScheduler.stop).parameters) == ["self"]


@pytest.mark.req("DECL-RFC")
def test_every_clause_has_one_of_the_words_of_the_rfc_or_is_a_fact():
    rows = [line.split("\t") for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines()]
    words = {row[3] for row in rows if row[0].startswith("DECL-")}
    assert words <= {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "FACT", "EXAMPLE"}


@pytest.mark.req("DECL-API-INIT", "DECL-API-STOP", "DECL-LC-U2I", "DECL-LC-I2R", "DECL-LC-R2S", "DECL-LC-S2S")
@pytest.mark.req("DECL-LC-STATES", "DECL-LC-UNINIT", "DECL-LC-INITING", "DECL-LC-RUNNING", "DECL-LC-STOPPED")
@pytest.mark.req("DECL-POLL-ON", "DECL-POLL-STOPREQ", "DECL-POLL-STOPPED", "DECL-POLL-STATES", "DECL-POLL-DEFS")
def test_a_life_from_beginning_to_end():
    async def script(stage):
        scheduler = stage.scheduler()
        assert scheduler._state is SchedulerState.UNINITIALIZED
        beginning = scheduler.initialize([stage.task("a", HOURLY), stage.task("b", HOURLY)])
        assert scheduler._state is SchedulerState.INITIALIZING
        assert stage.events() == BEGIN[:1]
        assert await beginning is None
        assert scheduler._state is SchedulerState.RUNNING
        assert scheduler._polling.state is PollingState.ACTIVE
        assert stage.events() == BEGIN
        await stage.until("2026-03-10T12:30:00Z")
        before = len(stage.events())
        polling = scheduler._polling
        assert await scheduler.stop() is None
        assert scheduler._state is SchedulerState.STOPPED
        assert polling.state is PollingState.INACTIVE
        assert stage.events()[before:] == END
        before = len(stage.events())
        await asyncio.sleep(7200)
        assert stage.events()[before:] == []

    assert len(play(script).ran) == 2


@pytest.mark.req("DECL-POLL-ON")
def test_without_tasks_there_is_no_loop():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([])
        assert scheduler._polling.state is PollingState.INACTIVE
        with pytest.raises(SchedulerAlreadyActiveError):
            scheduler.initialize([])
        await scheduler.stop()

    said = ["SchedulerInitializationStarted", "SchedulerInitializationCompleted"]
    assert play(script).events() == [*said, "SchedulerStopRequested", "SchedulerStopped"]


@pytest.mark.req("DECL-POLL-OFF", "DECL-POLL-ON", "DECL-POLL-STATES")
def test_without_the_last_task_the_loop_ends():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", HOURLY), stage.task("b", HOURLY)])
        await asyncio.sleep(1)
        polling = scheduler._polling
        await polling.cancel("a")
        assert polling.state is PollingState.ACTIVE
        await polling.cancel("b")
        assert polling.state is PollingState.INACTIVE
        assert stage.events()[-1] == "PollingStopped"
        assert "PollingStopRequested" not in stage.events()
        polling.schedule("a")
        assert polling.state is PollingState.ACTIVE
        assert stage.events()[-1] == "PollingStarted"
        await stage.until("2026-03-10T13:00:30Z")
        await scheduler.stop()

    assert "2026-03-10T13:00:00Z" in play(script).times()


@pytest.mark.req("DECL-LC-STOPPING", "DECL-RES-WAIT", "DECL-LC-R2S", "DECL-POLL-STOPPED", "DECL-POLL-STOPREQ")
def test_stop_waits_for_what_runs_and_starts_nothing_more():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "0 12 * * *", lasts=600), stage.task("b", "* * * * *")])
        await asyncio.sleep(5)
        ending = asyncio.ensure_future(scheduler.stop())
        await asyncio.sleep(300)
        assert scheduler._state is SchedulerState.STOPPING
        assert scheduler._polling.state is PollingState.STOPPING
        assert not ending.done()
        with pytest.raises(SchedulerAlreadyActiveError, match="already running"):
            scheduler.initialize([])
        await ending
        assert stage.going == set()
        assert stage.now() == "2026-03-10T12:10:20Z"

    stage = play(script)
    assert stage.times("b") == ["2026-03-10T12:00:20Z"]
    assert stage.events()[-3:] == ["TaskRunCompleted", "PollingStopped", "SchedulerStopped"]


@pytest.mark.req("DECL-REENT-STOP")
def test_many_may_stop_at_once_and_when_nothing_runs():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.stop()
        await scheduler.initialize([stage.task("a", "0 12 * * *", lasts=30)])
        await asyncio.sleep(1)
        await asyncio.gather(*(scheduler.stop() for _ in range(3)))
        assert stage.going == set()
        await scheduler.stop()

    assert play(script).events().count("SchedulerStopped") == 1


@pytest.mark.req("DECL-REENT-STOPINIT", "DECL-LC-INITING")
def test_stop_during_initialize_waits_for_it_and_nothing_runs():
    class Slow:
        """A store that takes its time."""

        def __init__(self, store):
            self.store = store

        def __getattr__(self, name):
            async def call(*given, **named):
                await asyncio.sleep(5)
                return await getattr(self.store, name)(*given, **named)

            return call

    async def script(stage):
        scheduler = stage.scheduler(store=Slow(stage.store))
        beginning = scheduler.initialize([stage.task("a", "* * * * *")])
        await asyncio.sleep(7)
        ending = scheduler.stop()
        with pytest.raises(SchedulerAlreadyActiveError, match="already initializing"):
            scheduler.initialize([])
        await asyncio.gather(beginning, ending)
        await asyncio.sleep(600)

    stage = play(script)
    assert stage.ran == []
    assert list(stage.store.cases) == ["a"]  # what was to be persisted is
    said = ["SchedulerInitializationStarted", "SchedulerInitializationCompleted"]
    assert stage.events() == [*said, "SchedulerStopRequested", "SchedulerStopped"]


@pytest.mark.req("DECL-REENT-INIT")
def test_of_three_initializations_one_proceeds():
    async def script(stage):
        scheduler = stage.scheduler()

        async def one():
            await scheduler.initialize([stage.task("a", HOURLY)])

        found = await asyncio.gather(*(one() for _ in range(3)), return_exceptions=True)
        assert [type(error) for error in found] == [type(None), *[SchedulerAlreadyActiveError] * 2]
        await scheduler.stop()

    assert len(play(script).ran) == 1


@pytest.mark.req("DECL-LC-I2U", "DECL-LC-STATES")
def test_after_a_failure_it_is_as_new():
    async def script(stage):
        scheduler = stage.scheduler()
        with pytest.raises(SchedulerError):
            await scheduler.initialize([stage.task("a", "nonsense")])
        assert scheduler._state is SchedulerState.UNINITIALIZED
        await scheduler.initialize([stage.task("a", HOURLY)])
        await scheduler.stop()

    said = ["SchedulerInitializationStarted", "SchedulerInitializationFailed", *BEGIN]
    assert play(script).events()[:5] == said


@pytest.mark.req("DECL-RES-CLEAN", "DECL-RES-ISOLATE", "DECL-RES-WAIT")
def test_nothing_is_left_behind_even_if_tasks_fail():
    async def script(stage):
        alone = asyncio.all_tasks()
        scheduler = stage.scheduler()
        bad, good = stage.task("bad", "0 12 * * *", 5, fails=99), stage.task("good", "0 12 * * *", lasts=60)
        cancelled = ("cancelled", "0 12 * * *", _cancel_yourself, bad[3])
        await scheduler.initialize([bad, good, cancelled])
        await asyncio.sleep(20)
        assert stage.going == {"good"}
        await scheduler.stop()
        assert asyncio.all_tasks() == alone

    stage = play(script)
    said = [(event.name, event.facts["taskName"]) for event in stage.heard.events if "taskName" in event.facts]
    assert ("TaskRunCompleted", "good") in said
    assert ("TaskRunFailed", "cancelled") in said
    assert said.count(("TaskRunFailed", "bad")) >= 3


async def _cancel_yourself():
    raise asyncio.CancelledError


@pytest.mark.req("DECL-IDEM-INIT", "DECL-IDEM-NODUP", "DECL-PERS-PRESERVED")
def test_the_same_registrations_again_change_nothing():
    async def script(stage):
        given = [stage.task("a", HOURLY, 5), stage.task("b", "30 * * * *", 5)]
        scheduler = stage.scheduler()
        await scheduler.initialize(given)
        with pytest.raises(SchedulerAlreadyActiveError):
            scheduler.initialize(given)
        await asyncio.sleep(10)
        await scheduler.stop()
        before = dict(stage.store.cases), dict(stage.store.ledger), dict(stage.store.history)
        for _ in range(3):
            scheduler = stage.scheduler()
            await scheduler.initialize(given)
            await scheduler.stop()
            assert (stage.store.cases, stage.store.ledger, stage.store.history) == before
        scheduler = stage.scheduler()
        await scheduler.initialize(given)
        await stage.until("2026-03-10T13:05:00Z")
        await scheduler.stop()

    stage = play(script)
    assert stage.times("a") == ["2026-03-10T12:00:20Z", "2026-03-10T13:00:00Z"]
    assert stage.times("b") == ["2026-03-10T12:30:00Z"]


EVENTS = {
    *("SchedulerInitializationStarted", "SchedulerInitializationCompleted", "SchedulerInitializationFailed"),
    *("SchedulerStopRequested", "SchedulerStopped", "PollingStarted", "PollingStopRequested", "PollingStopped"),
    *("TaskRunStarted", "TaskRunCompleted", "TaskRunFailed", "TaskRetryStarted", "TaskRetryPreempted"),
}


@pytest.mark.req("DECL-SCOPE-IN")
def test_there_are_thirteen_events_and_no_other():
    async def script(stage):
        scheduler = stage.scheduler()
        with pytest.raises(SchedulerError):
            await scheduler.initialize([stage.task("", HOURLY)])
        tasks = [stage.task("a", "0,1 12 * * *", 10, fails=1), stage.task("b", "* * * * *", 300, fails=1)]
        await scheduler.initialize(tasks)
        await asyncio.sleep(120)
        await scheduler.stop()

    assert set(play(script).events()) == EVENTS
    assert len(EVENTS) == 13


def test_a_task_may_stop_the_scheduler():
    async def script(stage):
        scheduler = stage.scheduler()

        async def enough():
            scheduler.stop()

        await scheduler.initialize([("a", "* * * * *", enough, stage.task("x", HOURLY)[3])])
        await asyncio.sleep(300)
        assert scheduler._state is SchedulerState.STOPPED

    assert play(script).events().count("TaskRunStarted") == 1


def test_a_sink_that_fails_stops_nothing():
    def fail(event):
        raise ValueError("I cannot hear")

    async def script(stage):
        scheduler = stage.scheduler(on_event=fail)
        await scheduler.initialize([stage.task("a", "* * * * *")])
        await asyncio.sleep(100)
        await scheduler.stop()

    assert len(play(script).ran) == 3


def test_a_cancelled_initialization_is_undone():
    async def script(stage):
        scheduler = stage.scheduler()
        beginning = scheduler.initialize([stage.task("a", HOURLY)])
        beginning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        assert stage.ran == []
        assert stage.events()[-1] == "SchedulerInitializationFailed"
        await scheduler.initialize([stage.task("a", HOURLY)])
        await scheduler.stop()

    play(script)
