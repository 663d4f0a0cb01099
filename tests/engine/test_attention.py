"""Attention: what a person should look at, bounded, and nothing else."""

from kron.engine.attention import LATE_MS, attention
from kron.rules.launch_result import LaunchResult
from kron.rules.run_state import State
from tests.engine.world import World, play

START = "2026-03-01T11:59:00Z"


def test_attention_has_late_troubled_and_paused_schedules_of_the_scope():
    async def scene():
        world = World(START, duration=1, answers=[LaunchResult.REJECTED])
        await world.define("0 * * * *", identity="t/dead")
        await world.run("2026-03-01T12:00:30Z")
        for name in ("t/late", "u/late", "t/asleep"):
            await world.define("0 * * * *", identity=name)
        await world.tick()  # each is checked once after it was defined
        await world.registrar.pause("t/asleep")
        quiet = await attention(world.store, "t/", 9)
        assert quiet.late == []
        world.sleep("2026-03-01T13:00:00Z")
        assert (await attention(world.store, "t/", 9)).late == [], "it is not late at once"
        world.sleep(world.clock.now() + LATE_MS / 1000)
        found = await attention(world.store, "t/", 9)
        assert [state.identity for state in found.late] == ["t/dead", "t/late"]
        assert found.troubled == [("t/dead", State.FAILED)]
        assert [run.identity for run in found.dead_letters] == ["t/dead"]
        assert [state.identity for state in found.paused] == ["t/asleep"]
        assert len((await attention(world.store, "", 1)).late) == 1

    play(scene())
