"""Plan of a backfill: the outcome of each period so far."""

from dataclasses import replace

import pytest

from kron.engine.backfill_plan import backfill_plan
from kron.errors import InvalidInput, NotFound
from kron.rules.launch_result import LaunchResult
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.schedule.policy import SERVICE, Catchup
from kron.timing.zone import instant_of
from tests.engine.world import World, play


def hour(number):
    return instant_of(f"2026-03-01T{number:02}:00:00Z")


def test_plan_has_the_outcome_of_every_period():
    async def scene():
        world = World("2026-03-01T05:30:00Z", duration=1, answers=[LaunchResult.OK, LaunchResult.REJECTED])
        await world.define("0 * * * *", replace(SERVICE, catchup=Catchup.NONE, catchup_limit=1))
        await world.run("2026-03-01T07:30:00Z")
        world.sleep("2026-03-01T11:30:00Z")
        await world.tick()
        plan = await backfill_plan(world.store, "job", hour(4), hour(12))
        assert [(each.nominal, each.ran, each.outcome, each.reason) for each in plan] == [
            (hour(4), False, None, None),
            (hour(5), False, None, None),
            (hour(6), True, Outcome.EXECUTED, None),
            (hour(7), False, Outcome.MISSED, Reason.LAUNCH_FAILED),
            *((hour(n), False, Outcome.MISSED, Reason.CATCHUP_NONE) for n in (8, 9, 10, 11)),
            (hour(12), False, None, None),
        ]
        await world.registrar.backfill("job", hour(4), hour(8), "b")
        for _ in range(9):
            world.sleep(world.clock.now() + 2)
            await world.tick()
        again = await backfill_plan(world.store, "job", hour(4), hour(8))
        assert [(each.ran, each.run.state) for each in again] == [(True, State.SUCCESS)] * 5, "by an earlier request"
        assert len(await world.store.runs("job", 99)) == 5 + 2 + 1, "the plan records nothing"

    play(scene())


def test_plan_of_no_schedule_and_of_too_many_periods_is_refused():
    async def scene():
        world = World("2026-03-01T05:30:00Z")
        with pytest.raises(NotFound):
            await backfill_plan(world.store, "job", hour(4), hour(5))
        await world.define("* * * * *")
        with pytest.raises(InvalidInput, match="TOO_MANY"):
            await backfill_plan(world.store, "job", hour(4) - 86_400, hour(5))

    play(scene())
