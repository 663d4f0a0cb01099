"""Runs that are asked for: backfills and redrives queue, a skipped trigger says so, and keys never collide."""

from hashlib import sha256
from itertools import pairwise

import pytest

from kron.errors import KronError
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.key import key_of
from kron.timing.schedule.policy import Overlap
from kron.timing.zone import instant_of
from tests.engine.world import World, play

FIRST, LAST = instant_of("2026-03-01T09:00:00Z"), instant_of("2026-03-01T11:00:00Z")
HOURLY = "0 * * * * @policy(deadline=1h)"


async def a_world(duration=600):
    world = World("2026-03-01T12:30:00Z", duration)
    await world.define(HOURLY)
    return world


def test_backfill_queues_under_skip():
    async def script():
        world = await a_world()
        await world.registrar.backfill("job", FIRST, LAST, "r1")
        await world.run("2026-03-01T14:30:00Z")
        runs = [run for run in await world.store.runs("job", 100) if run.trigger]
        assert [run.state for run in runs] == [State.SUCCESS] * 3
        starts = sorted(launch.run.sent for launch in world.target.starts)
        assert all(later - earlier >= 600_000 for earlier, later in pairwise(starts))

    play(script())


@pytest.mark.parametrize(("overlap", "started"), [(Overlap.SKIP, 1), (Overlap.ALLOW, 3)])
def test_backfill_with_its_own_overlap_follows_it(overlap, started):
    async def script():
        world = await a_world()
        await world.registrar.backfill("job", FIRST, LAST, "r1", overlap)
        await world.run("2026-03-01T12:35:00Z")
        assert len(world.target.starts) == started
        again = await world.registrar.backfill("job", FIRST, LAST, "r1")  # the same request, whatever its overlap
        assert len(again) == 3
        await world.run("2026-03-01T12:36:00Z")
        assert len(world.target.starts) == started

    play(script())


def test_backfill_survives_a_crash_of_its_worker():
    async def script():
        world = await a_world()
        await world.registrar.backfill("job", FIRST, LAST, "r1")
        await world.tick()
        world.restart()
        await world.run("2026-03-01T14:30:00Z")
        assert sum(run.state is State.SUCCESS for run in await world.store.runs("job", 100) if run.trigger) == 3

    play(script())


def test_redrive_queues_under_skip():
    async def script():
        world = await a_world(duration=None)
        await world.run("2026-03-01T13:00:00Z")
        (run,) = await world.store.runs("job", 1)
        await world.run("2026-03-01T15:00:00Z")  # it fell silent, and is lost
        (lost,) = await world.store.runs_by_key([run.key])
        assert lost.state is State.LOST
        again = await world.registrar.redrive(run.key)
        await world.run("2026-03-01T15:01:00Z")
        assert (await world.store.runs_by_key([again.key]))[0].state is State.PENDING

    play(script())


def test_trigger_beside_an_active_run_says_that_it_is_skipped():
    async def script():
        world = await a_world()
        first = await world.registrar.trigger("job", "one")
        second = await world.registrar.trigger("job", "two")
        assert first.state is State.PENDING
        assert (second.state, second.outcome, second.reason) == (State.SKIPPED, Outcome.SKIPPED, Reason.OVERLAP)
        await world.run("2026-03-01T12:31:00Z")
        third = await world.registrar.trigger("job", "three")
        assert third.reason is Reason.OVERLAP
        assert len(world.target.starts) == 1

    play(script())


def test_trigger_while_paused_runs_now():
    async def script():
        world = await a_world(duration=1)
        await world.registrar.pause("job")
        await world.registrar.trigger("job", "one")
        await world.run("2026-03-01T13:30:00Z")
        assert await world.story() == "1 executed"
        assert world.target.starts[0].run.sent == instant_of("2026-03-01T12:30:00Z") * 1000

    play(script())


def test_manual_key_differs_from_every_calendar_key():
    assert key_of("x", 0, "1800000000") != key_of("x:0", 1_800_000_000)
    assert key_of("x", 5, "a:6:b") != key_of("x:5:a", 6, "b")
    assert key_of("x", 5) == sha256(b"x:5").hexdigest()  # the formula of the specification


@pytest.mark.parametrize("request_name", ["backfill:x", "backfill/skip:x", "redrive:x", "redrive/allow:x"])
def test_trigger_with_a_reserved_name_is_refused(request_name):
    async def script():
        world = await a_world()
        with pytest.raises(KronError, match="BAD_REQUEST"):
            await world.registrar.trigger("job", request_name)

    play(script())
