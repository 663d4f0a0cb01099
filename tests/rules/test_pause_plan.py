"""Plan of a pause: what it lists is what a pause then does to the ledger."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron.engine.periods import periods
from kron.errors import InvalidInput
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause_plan import pause_plan
from kron.timing.schedule.policy import SERVICE, Overlap, Resume
from kron.timing.zone import instant_of
from tests.engine.world import World, play

START = "2026-03-28T20:17:31Z"  # the clocks of Paris change in the night
HOUR = 3_600_000
TEXTS = [
    "0 * * * * @tz(Europe/Paris)",
    "*/30 1-3 * * * @tz(Europe/Paris)",
    "0 */2 * * * @win(after,50m)",
    "0 */3 * * * @win(around,4h)",
    "0 */2 * * * @win(around,1h) @avoid(hours=2)",
]
DROPPED = replace(SERVICE, resume=Resume.DROP, overlap=Overlap.ALLOW)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(TEXTS), st.integers(1, 12 * 3_600), st.sampled_from([None, 3]))
def test_plan_lists_what_the_pause_then_skips(text, seconds, max_runs):
    async def scene():
        world = World(START, duration=1)
        await world.define(text, replace(DROPPED, max_runs=max_runs))
        (state,), now = await world.store.get_with_time(["job"])
        until = now + seconds * 1000
        plan = pause_plan(state, now, until, 100)
        assert not plan.more
        await world.registrar.pause("job", until=until)
        await world.run((until + 30 * HOUR) // 1000)
        lines = await periods(world.store, "job", now // 1000 - 7_200, until // 1000 + 30 * 3_600)
        skipped = [line.period.nominal for line in lines if line.reason is Reason.PAUSED and line.chosen]
        assert sorted(due.nominal for due in plan.periods) == skipped
        executed = sorted((line.due, line.period.nominal) for line in lines if line.outcome is Outcome.EXECUTED)
        assert executed[0] == (plan.first_after.at, plan.first_after.nominal)

    play(scene())


AROUND = "0 */3 * * * @win(around,4h)"


@pytest.mark.parametrize("end", ["expires", "resumed", "edited", "another calendar", "deleted"])
def test_period_that_is_due_in_a_pause_ends_as_paused_also_if_its_nominal_time_is_later(end):
    async def scene():
        world = World(START, duration=1)
        await world.define(AROUND, DROPPED)
        until = await world.store.now() + 21_101_000
        await world.registrar.pause("job", until=until if end == "expires" else None)
        await world.run(until // 1000)
        match end:
            case "resumed":
                await world.registrar.resume("job")
            case "edited" | "another calendar":
                await world.define(AROUND if end == "edited" else "20 * * * *", replace(DROPPED, max_runs=9))
            case "deleted":
                await world.registrar.delete("job")
        await world.run((until + HOUR) // 1000)
        runs = [run for run in await world.store.runs("job", 20) if run.due < until <= run.nominal * 1000]
        assert [(run.outcome, run.reason, run.revision) for run in runs] == [(Outcome.SKIPPED, Reason.PAUSED, 1)]

    play(scene())


async def a_state(text="0 * * * *", policy=DROPPED):
    world = World(START)
    await world.define(text, policy)
    (state,), now = await world.store.get_with_time(["job"])
    return world, state, now


def test_pause_without_an_end_has_no_run_after_it():
    async def scene():
        _, state, now = await a_state()
        plan = pause_plan(state, now, None, 5)
        assert len(plan.periods) == 5
        assert (plan.more, plan.first_after) == (True, None)

    play(scene())


def test_plan_is_cut_and_says_so():
    async def scene():
        _, state, now = await a_state()
        plan = pause_plan(state, now, now + 10 * HOUR, 4)
        assert (len(plan.periods), plan.more) == (4, True)
        assert plan.first_after.nominal == instant_of("2026-03-29T07:00:00Z")
        every_minute = (await a_state("* * * * *"))[1]
        assert pause_plan(every_minute, now, now + 100 * HOUR, 2_000).more, "not all of 6,000 periods were looked at"

    play(scene())


def test_pause_that_ends_in_the_past_is_refused():
    async def scene():
        _, state, now = await a_state()
        with pytest.raises(InvalidInput, match="PAST"):
            pause_plan(state, now, now, 4)

    play(scene())


def test_schedule_that_is_paused_is_planned_as_if_it_were_not():
    async def scene():
        world, state, now = await a_state()
        active = pause_plan(state, now, now + 3 * HOUR, 9)
        for until in (None, now + HOUR):
            await world.registrar.pause("job", until=until)
            (paused,) = await world.store.get(["job"])
            assert pause_plan(paused, now, now + 3 * HOUR, 9) == active

    play(scene())
