"""`after_end`: a schedule whose last run has ended is deleted by a worker, if its policy says so."""

from dataclasses import replace

import pytest

from kron import KronError
from kron.engine.audit import audit
from kron.engine.events import Memory
from kron.engine.log_events import text_of
from kron.engine.settings import Settings
from kron.engine.why import why
from kron.engine.worker import Worker
from kron.rules.action import ActionKind
from kron.rules.launch_result import Report
from kron.rules.run_state import State
from kron.timing.schedule.policy import AfterEnd
from kron.timing.zone import instant_of
from tests.engine.world import FOLLOWED, Still, World, play

DELETING = replace(FOLLOWED, after_end=AfterEnd.DELETE)
START, ONCE = "2026-03-01T12:10:00Z", "at 2026-03-01T12:15:00Z"


async def a_world(policy, text=ONCE, **options):
    world = World(START, **options)
    await world.define(text, policy, dialect="plus")
    return world


async def is_deleted(world):
    (state,) = await world.store.get(["job"])
    return state.deleted


def test_one_off_job_is_deleted_after_its_run():
    async def script():
        world = await a_world(DELETING, duration=60)
        await world.run("2026-03-01T12:15:30Z")
        assert not await is_deleted(world)  # its run has not ended
        await world.run("2026-03-01T12:20:00Z")
        assert await is_deleted(world)
        assert await world.story() == "1 executed"
        (action,) = await world.store.actions("job")
        assert (action.kind, action.actor, action.note) == (ActionKind.DELETED, "kron", "the schedule has ended")
        told = await why(world.store, "job", instant_of("2026-03-01T12:15:00Z") * 1000)
        assert told.run.state is State.SUCCESS
        assert [one.sound async for one in audit(world.store, ["job"])] == [True]

    play(script())


def test_by_default_it_stays():
    async def script():
        world = await a_world(FOLLOWED, duration=1)
        await world.run("2026-03-01T12:20:00Z")
        assert not await is_deleted(world)
        assert await world.store.actions("job") == []

    play(script())


def test_two_moments_are_two_runs():
    async def script():
        world = await a_world(DELETING, "at 2026-03-01T12:15:00Z,2026-03-01T13:15:00Z", duration=1)
        await world.run("2026-03-01T12:20:00Z")
        assert not await is_deleted(world)
        await world.run("2026-03-01T13:20:00Z")
        assert await is_deleted(world)
        assert await world.story() == "2 executed"

    play(script())


def test_last_of_its_runs_ends_a_schedule_with_a_maximum():
    async def script():
        world = await a_world(replace(DELETING, max_runs=2), "*/5 * * * *", duration=1)
        await world.run("2026-03-01T12:16:00Z")
        assert not await is_deleted(world)
        await world.run("2026-03-01T12:21:00Z")
        assert await is_deleted(world)
        assert await world.story() == "2 executed"

    play(script())


def test_failed_run_is_retried_before_the_schedule_is_deleted():
    async def script():
        world = await a_world(replace(DELETING, retry_after=60 * 10**9, retry_attempts=1))
        await world.run("2026-03-01T12:15:01Z")
        (run,) = (await world.registrar.get("job")).open_runs
        await world.registrar.report(run.key, Report.FAILED)
        await world.run("2026-03-01T12:15:30Z")
        assert not await is_deleted(world)
        await world.run("2026-03-01T12:16:30Z")
        (run,) = (await world.registrar.get("job")).open_runs
        await world.registrar.report(run.key, Report.FAILED)
        await world.run("2026-03-01T12:17:00Z")
        assert await is_deleted(world)

    play(script())


def test_paused_schedule_is_not_deleted_before_it_is_resumed():
    async def script():
        world = await a_world(DELETING, duration=1)
        await world.registrar.pause("job")
        await world.run("2026-03-01T12:20:00Z")
        assert not await is_deleted(world)
        await world.registrar.resume("job")
        await world.run("2026-03-01T12:21:00Z")
        assert await is_deleted(world)

    play(script())


def test_trigger_after_the_deletion_is_refused():
    async def script():
        world = await a_world(DELETING, duration=1)
        await world.run("2026-03-01T12:20:00Z")
        with pytest.raises(KronError, match="job"):
            await world.registrar.trigger("job", "now")

    play(script())


def test_deletion_is_logged():
    async def script():
        events = Memory()
        world = await a_world(DELETING, duration=1)
        world.worker = Worker(world.store, {"test": world.target}, Still(), owner="w", settings=Settings(), sink=events)
        await world.run("2026-03-01T12:20:00Z")
        (event,) = events.named("schedule_deleted")
        assert text_of(event) == "schedule job deleted by kron: the schedule has ended"

    play(script())
