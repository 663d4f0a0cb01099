"""Writes that lose against others: they are made again, and are confirmed only once they are there."""

import asyncio
from dataclasses import replace

import pytest

from kron import KronError, parse
from kron.engine.registrar import NO_ACTOR
from kron.engine.report_writer import ReportWriter
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE, Overlap
from tests.engine.world import FOLLOWED, World, play

QUARTERS = "*/15 * * * *"


def losing(world, name, times=1):
    """Let the next writes by that method lose, as they do when somebody else is faster."""
    method, lost = getattr(world.store, name), []

    async def lose(things, now, **how):
        if len(lost) < times:
            lost.append(list(things))
            return [False] * len(things)
        return await method(things, now, **how)

    setattr(world.store, name, lose)
    return lost


def a_job(identity="job"):
    return Job(identity, parse(QUARTERS, dialect="kron"), target="test:it")


def test_registrar_makes_a_lost_write_again_before_it_confirms():
    async def script():
        world = World("2026-03-01T12:10:00Z")
        lost = losing(world, "commit", times=2)
        case = await world.registrar.upsert(a_job())
        assert len(lost) == 2
        assert await world.registrar.get("job") == case

    play(script())


def test_bulk_makes_a_lost_write_again_before_it_confirms():
    async def script():
        world = World("2026-03-01T12:10:00Z")
        lost = losing(world, "commit")
        cases = await world.registrar.upsert_all([(a_job(name), NO_ACTOR) for name in ("a", "b")])
        assert [len(settlements) for settlements in lost] == [2]
        assert [await world.registrar.get(name) for name in ("a", "b")] == cases

    play(script())


@pytest.mark.parametrize("times", [1, 3])
def test_report_that_loses_is_written_again_before_it_is_confirmed(times):
    async def script():
        world = World("2026-03-01T11:00:00Z")
        case = await world.define("0 12 * * *", FOLLOWED)
        world.sleep("2026-03-01T12:00:00Z")
        await world.tick()
        (run,) = await world.store.runs("job", 1)
        lost = losing(world, "update_runs", times)
        said = ReportWriter(world.store).write(run.key, Report.SUCCESS, policy=case.policy)
        assert await asyncio.wait_for(said, 5)
        assert len(lost) == times
        assert (await world.store.runs_by_key([run.key]))[0].state is State.SUCCESS

    play(script())


def test_report_that_loses_again_and_again_is_an_error():
    async def script():
        world = World("2026-03-01T11:00:00Z")
        case = await world.define("0 12 * * *", FOLLOWED)
        world.sleep("2026-03-01T12:00:00Z")
        await world.tick()
        (run,) = await world.store.runs("job", 1)
        losing(world, "update_runs", times=1_000)
        with pytest.raises(KronError, match="CONTENDED"):
            await ReportWriter(world.store).write(run.key, Report.SUCCESS, policy=case.policy)

    play(script())


def test_delete_withdraws_what_waits_in_the_queue():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=20 * 60)
        await world.define(QUARTERS, replace(FOLLOWED, overlap=Overlap.QUEUE))
        await world.run("2026-03-01T12:31:00Z")
        assert await world.story() == "1 executed, 1 pending"
        await world.registrar.delete("job")
        assert await world.story() == "1 executed, 1 skipped (deleted)"
        (newest, _) = await world.store.runs("job", 2)
        assert (newest.state, newest.outcome, newest.reason) == (State.SKIPPED, Outcome.SKIPPED, Reason.DELETED)
        await world.run("2026-03-01T13:00:00Z")
        assert len(world.target.starts) == 1

    play(script())


@pytest.mark.parametrize(
    ("answer", "story"),
    [
        (LaunchResult.RETRYABLE, "1 missed (launch_failed)"),
        (LaunchResult.UNKNOWN, "1 executed (unknown)"),
        (LaunchResponse(LaunchResult.UNSENT, 60_000), "1 skipped (deleted)"),
    ],
)
def test_delete_ends_what_waits_for_another_attempt(answer, story):
    async def script():
        world = World("2026-03-01T11:59:00Z", answers=[answer] * 50)
        await world.define("0 12 * * *", SERVICE)
        await world.run("2026-03-01T12:00:20Z")
        sent = len(world.target.starts)
        await world.registrar.delete("job")
        await world.run("2026-03-01T12:30:00Z")
        assert await world.story() == story
        assert len(world.target.starts) == sent

    play(script())
