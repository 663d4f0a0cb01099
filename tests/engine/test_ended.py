"""The validity of a job: strictly after its start, up to and with its end; once ended, nothing is caught up."""

from dataclasses import replace

import pytest

from kron.rules.outcome import Outcome, Reason
from kron.timing.schedule.policy import KRON, MINUTE, SERVICE, Catchup, Overlap
from kron.timing.zone import instant_of
from tests.engine.world import World, play

QUARTERS = "*/15 * * * *"
END = instant_of("2026-03-01T13:00:00Z")


async def came(at, policy, text=QUARTERS, end=END, **more):
    """A world in which nobody was there from 12:10 until that time."""
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(text, replace(policy, overlap=Overlap.ALLOW), end=end, **more)
    world.sleep(at)
    for _ in range(5):
        await world.tick()
    return world


@pytest.mark.req("SVC-PC-QUERY")
@pytest.mark.parametrize("catchup", [Catchup.ALL, Catchup.SPREAD, Catchup.LATEST])
def test_an_ended_schedule_is_not_caught_up_and_says_so(catchup):
    async def script():
        world = await came("2026-03-01T13:01:01Z", replace(SERVICE, catchup=catchup))
        assert await world.story() == "4 missed (ended)"
        assert world.target.starts == []
        assert (await world.registrar.get("job")).next_check_at is None

    play(script())


@pytest.mark.parametrize("at", ["2026-03-01T13:00:00Z", "2026-03-01T12:59:59Z"])
def test_until_its_end_it_is(at):
    async def script():
        world = await came(at, replace(SERVICE, catchup=Catchup.ALL))
        count = 4 if at.endswith("00Z") else 3
        assert await world.story() == f"{count} executed"

    play(script())


@pytest.mark.req("SVC-DM-END", "SVC-DM-START", "SVC-PC-ENUM")
def test_it_runs_strictly_after_its_start_and_up_to_its_end():
    async def script():
        world = World("2026-03-01T11:00:00Z", duration=1)
        await world.define(QUARTERS, SERVICE, start=instant_of("2026-03-01T12:00:00Z"), end=END)
        await world.run("2026-03-01T15:00:00Z")
        ran = [launch.run.nominal for launch in world.target.starts]
        assert ran == [END - 2700, END - 1800, END - 900, END]
        assert await world.story() == "4 executed"

    play(script())


def test_the_last_second_of_its_time_is_on_time_and_runs():
    """The worker comes 900 ms after the end: within the resolution."""

    async def script():
        world = World("2026-03-01T12:50:00Z", duration=1)
        await world.define(QUARTERS, replace(SERVICE, catchup=Catchup.ALL), end=END)
        world.sleep(END + 0.9)
        await world.tick()
        assert await world.story() == "1 executed"

    play(script())


def test_where_the_deadline_decides_the_end_does_not():
    async def script():
        world = await came("2026-03-01T13:05:00Z", replace(KRON, deadline=10 * MINUTE))
        assert await world.story() == "3 missed (deadline), 1 executed"

    play(script())


@pytest.mark.parametrize("catchup", [Catchup.ALL, Catchup.NONE, Catchup.LATEST, Catchup.BY_DEADLINE])
def test_a_gap_ends_with_its_schedule(catchup):
    """A day of minutes, then nothing; and nobody comes for a month."""

    async def script():
        end = instant_of("2026-03-02T12:10:00Z")
        world = await came("2026-04-01T00:00:00Z", replace(SERVICE, catchup=catchup), "* * * * *", end)
        (gap,), runs = await world.store.gaps("job"), await world.store.runs("job", 10_000)
        assert gap.last < runs[-1].nominal <= runs[0].nominal == end
        assert gap.count + len(runs) == 1440
        assert len(runs) == 100
        reasons = {Catchup.NONE: Reason.CATCHUP_NONE, Catchup.BY_DEADLINE: Reason.REPLAY_BOUND}
        assert (gap.outcome, gap.reason) == (Outcome.MISSED, reasons.get(catchup, Reason.ENDED))

    play(script())
