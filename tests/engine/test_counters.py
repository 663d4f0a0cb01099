"""`max_runs` and `pause_on_failure` in a world with a worker: what is launched, and what `why` and the audit say."""

from dataclasses import replace

import pytest

from kron.engine.audit import audit
from kron.engine.events import Memory
from kron.engine.log_events import level_of, text_of
from kron.engine.metrics import Metrics
from kron.engine.registrar import Actor
from kron.engine.settings import Settings
from kron.engine.why import why
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.run_state import State
from kron.timing.due import due_of
from kron.timing.schedule.policy import SECOND, Overlap
from kron.timing.zone import instant_of
from tests.engine.world import FOLLOWED, Still, World, play

LIMITED = replace(FOLLOWED, max_runs=3)
PAUSING = replace(FOLLOWED, pause_on_failure=2)
EVERY = "*/15 * * * *"


def ms(text):
    return instant_of(text) * 1000


async def sound(world):
    (one,) = [one async for one in audit(world.store, ["job"])]
    assert one.sound, one
    return one


async def failing(world, *states):
    """Let each of the next runs end in its turn: F failed, S succeeded, L lost."""
    for state in states:
        case = await world.registrar.get("job")
        (started,) = [run for run in case.open_runs if run.active]
        if state != "L":
            assert await world.registrar.report(started.key, Report.FAILED if state == "F" else Report.SUCCESS)
        else:
            world.clock.time = started.lease / 1000
        await world.tick()
        if (await world.registrar.get("job")).paused:
            return
        at = (await world.registrar.preview("job", 1))[0] / 1000
        world.clock.time = at
        await world.tick()


def test_schedule_has_its_runs_and_says_so():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define(EVERY, LIMITED)
        assert len(await world.registrar.preview("job", 9)) == 3
        await world.run("2026-03-01T15:05:00Z")
        assert await world.story() == "3 executed"
        assert await world.registrar.preview("job") == []
        state = await world.registrar.get("job")
        assert (state.run_count, state.runs_left, state.next_check_at) == (3, 0, None)
        told = await why(world.store, "job", ms("2026-03-01T14:00:00Z"))
        assert told.summary() == "no record: The schedule has had its 3 runs."
        assert (await why(world.store, "job", ms("2026-03-01T12:45:00Z"))).run.state is State.SUCCESS
        assert (await sound(world)).over == "the schedule has had its 3 runs"

    play(script())


def test_triggers_and_backfills_run_after_the_last_run():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define(EVERY, LIMITED)
        await world.run("2026-03-01T13:05:00Z")
        await world.registrar.trigger("job", "now")
        await world.run("2026-03-01T13:06:00Z")
        last = instant_of("2026-03-01T12:30:00Z")
        await world.registrar.backfill("job", last, last, "again")
        await world.run("2026-03-01T13:20:00Z")
        assert await world.story() == "5 executed"
        assert (await world.registrar.get("job")).run_count == 3

    play(script())


def test_larger_maximum_continues_and_the_audit_is_sound():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define(EVERY, LIMITED)
        await world.run("2026-03-01T15:05:00Z")
        await world.define(EVERY, replace(LIMITED, max_runs=5))
        await world.run("2026-03-01T18:00:00Z")
        assert await world.story() == "5 executed"
        one = await sound(world)
        assert (one.periods, one.over) == (5, "the schedule has had its 5 runs")
        await world.registrar.delete("job")
        await sound(world)
        await world.define(EVERY, replace(LIMITED, max_runs=1))
        await world.run("2026-03-01T20:00:00Z")
        assert await world.story() == "6 executed"
        await sound(world)

    play(script())


@pytest.mark.parametrize("lookahead", [0, 3_600_000])
def test_prefetched_plans_do_not_exceed_the_maximum(lookahead):
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        settings = Settings(lookahead=lookahead)
        world.worker = Worker(world.store, {"test": world.target}, Still(), owner="w1", settings=settings)
        await world.define("* * * * *", replace(FOLLOWED, overlap=Overlap.ALLOW, max_runs=4))
        for _ in range(600):
            await world.tick()
            world.clock.advance(1)
        assert await world.story() == "4 executed"

    play(script())


def test_failures_in_a_row_pause_with_a_recorded_action():
    async def script():
        world, heard, metrics = World("2026-03-01T12:10:00Z"), Memory(), Metrics()
        world.worker = Worker(world.store, {"test": world.target}, Still(), owner="w1", sink=heard)
        await world.define(EVERY, PAUSING)
        await world.run("2026-03-01T12:15:00Z")
        await failing(world, "F", "S", "F", "L", "F")
        state = await world.registrar.get("job")
        assert (state.paused, state.paused_until, state.failure_count) == (True, None, 2)
        (action,) = await world.store.actions("job")
        assert (action.actor, action.note) == ("kron", "2 runs failed in a row")
        count = len(world.target.starts)
        assert count == 5
        (event,) = heard.named("schedule_paused")
        assert text_of(event) == "schedule job paused by kron: 2 runs failed in a row"
        assert level_of(event) == 30
        metrics(event)
        assert "kron_schedules_paused_total 1" in metrics.text()
        later = await why(world.store, "job", ms("2026-03-01T16:00:00Z"))
        assert "paused by kron" in "\n".join(later.lines())
        await world.run("2026-03-01T17:00:00Z")
        assert len(world.target.starts) == count
        await sound(world)

    play(script())


def test_resume_starts_the_count_again():
    async def script():
        world = World("2026-03-01T12:10:00Z")
        await world.define(EVERY, PAUSING)
        await world.run("2026-03-01T12:15:00Z")
        await failing(world, "F", "F")
        resumed = await world.registrar.resume("job", Actor("ann"))
        assert (resumed.paused, resumed.failure_count) == (False, 0)
        world.clock.time = (await world.registrar.preview("job", 1))[0] / 1000
        await world.tick()
        await failing(world, "F")
        assert not (await world.registrar.get("job")).paused
        await failing(world, "F")
        assert (await world.registrar.get("job")).paused
        assert [action.kind.value for action in await world.store.actions("job")] == ["paused", "resumed", "paused"]

    play(script())


def test_launches_that_are_given_up_and_requested_runs_count():
    async def script():
        world = World("2026-03-01T12:10:00Z", answers=[LaunchResult.REJECTED, LaunchResult.REJECTED])
        await world.define(EVERY, PAUSING)
        await world.run("2026-03-01T12:15:00Z")
        await world.registrar.trigger("job", "now")
        await world.tick()
        await world.tick()
        assert (await world.registrar.get("job")).paused
        (action,) = await world.store.actions("job")
        assert action.note == "2 runs failed in a row"

    play(script())


def test_failure_of_an_older_revision_does_not_count():
    async def script():
        world = World("2026-03-01T12:10:00Z")
        await world.define(EVERY, replace(PAUSING, pause_on_failure=1))
        await world.run("2026-03-01T12:15:00Z")
        (run,) = (await world.registrar.get("job")).open_runs
        await world.define(EVERY, replace(PAUSING, pause_on_failure=1, queue_limit=7))
        await world.registrar.report(run.key, Report.FAILED)
        await world.tick()
        state = await world.registrar.get("job")
        assert (state.paused, state.failure_count) == (False, 0)

    play(script())


def test_audit_is_sound_although_a_pass_left_due_periods():
    """A pass takes one period, by its nominal time; the next period was due earlier, and the schedule is over."""

    async def script():
        policy = replace(FOLLOWED, max_runs=1, catchup_limit=1, jitter=90 * SECOND, overlap=Overlap.QUEUE)
        for n in (4, 8):  # identities whose jitter brings the next period before the first
            world = World("2026-03-01T12:10:00Z", duration=1)
            await world.define("* * * * *", policy, identity=f"job{n}")
            await world.store.lease("w0", frozenset({"test"}), 10**9)
            world.sleep("2026-03-01T12:14:00Z")
            await world.run("2026-03-01T12:20:00Z")
            await world.define("* * * * *", replace(policy, max_runs=2), identity=f"job{n}")
            (one,) = [one async for one in audit(world.store, [f"job{n}"])]
            assert one.sound, one
            (run,) = [run for run in world.store.ledger[f"job{n}"].values() if run.revision == 1 and not run.trigger]
            assert due_of((await world.registrar.get(f"job{n}")).job, run.nominal + 60).at < run.due

    play(script())
