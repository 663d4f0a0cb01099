"""Foresight: what is planned before its second is written in it, and only if it still holds."""

import pytest

from kron.engine.prefetch import Prefetcher
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.timing.schedule.policy import Policy, Resume
from kron.timing.zone import instant_of
from tests.engine.world import EVERYTHING, Still, World, play

SETTINGS = Settings(lookahead=60_000, batch=3)


class Asked(MemoryStore):
    """Remembers up to when it was looked, and how."""

    def __init__(self, clock):
        super().__init__(clock)
        self.asked = []

    async def fetch_due(self, share, upto, limit, *beyond):
        found = await super().fetch_due(share, upto, limit, *beyond)
        self.asked.append((upto - await self.now(), [case.identity for case in found]))
        return found


async def world_of(now, *texts, settings=SETTINGS, **more):
    world = World(now, duration=1)
    store = Asked(world.clock)
    world.store, world.registrar = store, Registrar(store)
    world.worker = Worker(store, {"test": world.target}, Still(), owner="w1", settings=settings)
    for n, text in enumerate(texts):
        await world.define(text, identity=f"s{n}", **more)
    return world


async def rested(world):
    """Passes, until the worker would rest; for how long."""
    for _ in range(20):
        pause = await world.tick()
        if pause:
            return pause
    raise AssertionError("it does not rest")


@pytest.mark.req("SVC-TICK-WAKE")
def test_it_fetches_what_is_due_by_now_and_the_lookahead_and_only_writes_it_in_its_second():
    async def script():
        world = await world_of("2026-03-01T11:59:30Z", *["0 12 * * *"] * 7, "5 12 * * *")
        assert await rested(world) == 1_000  # it wakes every second
        ahead = [name for upto, names in world.store.asked if upto == 60_000 for name in names]
        assert sorted(ahead) == [f"s{n}" for n in range(7)]  # by pages of three; five past is too far
        assert not world.target.starts
        world.sleep("2026-03-01T12:00:00Z")
        world.store.asked.clear()
        await world.tick()
        assert len(world.target.starts) == 7
        assert world.store.asked == []  # nothing was read any more
        runs = [launch.run for launch in world.target.starts]
        assert all(run.created == run.due == instant_of("2026-03-01T12:00:00Z") * 1000 for run in runs)

    play(script())


@pytest.mark.parametrize("deed", ["edit", "pause", "delete", "pause and resume"])
def test_what_was_changed_meanwhile_does_not_go_by_the_old_plan(deed):
    async def script():
        world = await world_of("2026-03-01T11:59:30Z", "0 12 * * *", policy=Policy(resume=Resume.DROP))
        await rested(world)
        assert world.worker.prefetcher.planned == {"s0"}
        if deed == "edit":
            await world.define("30 12 * * *", identity="s0")
        elif deed == "delete":
            await world.registrar.delete("s0")
        else:
            await world.registrar.pause("s0")
        world.sleep("2026-03-01T12:00:00Z")
        if deed == "pause and resume":
            await world.registrar.resume("s0")
        await rested(world)
        assert not world.target.starts

    play(script())


def test_a_pause_that_came_and_went_before_its_second_changes_nothing():
    async def script():
        world = await world_of("2026-03-01T11:59:30Z", "0 12 * * *")
        await rested(world)
        await world.registrar.pause("s0")
        await world.registrar.resume("s0")
        world.sleep("2026-03-01T12:00:00Z")
        await rested(world)
        assert len(world.target.starts) == 1

    play(script())


def test_who_comes_too_late_with_his_plans_makes_new_ones():
    async def script():
        world = await world_of("2026-03-01T11:59:30Z", "0 12 * * *")
        await rested(world)
        world.sleep("2026-03-01T12:00:05Z")
        await rested(world)
        (run,) = await world.store.runs("s0", 5)  # by its policy it is too late
        assert run.state is State.MISSED
        assert run.created == instant_of("2026-03-01T12:00:05Z") * 1000

    play(script())


def test_it_foresees_no_more_than_it_may_send_at_once():
    async def script():
        settings = Settings(lookahead=60_000, batch=3, inflight=4)
        world = await world_of("2026-03-01T11:59:30Z", *["0 12 * * *"] * 9, settings=settings)
        await rested(world)
        assert len(world.worker.prefetcher.planned) == 4
        world.sleep("2026-03-01T12:00:00Z")
        await rested(world)
        assert len(world.target.starts) == 9  # the others in the ordinary way

    play(script())


def test_what_falls_due_again_within_the_lookahead_is_foreseen_again():
    async def script():
        world = await world_of("2026-03-01T11:59:30Z", "* * * * *")
        for minute in range(5):
            await world.run(f"2026-03-01T12:0{minute}:59Z")
            assert world.worker.prefetcher.planned == {"s0"}
        assert len(world.target.starts) == 5

    play(script())


def test_other_shards_or_a_clock_set_back_and_all_is_looked_at_anew():
    async def script():
        world = await world_of("2026-03-01T11:59:30Z", "0 12 * * *")
        await rested(world)
        foresight, now = Prefetcher(world.store, "w1", SETTINGS), await world.store.now()
        informed = world.worker.membership.informed
        await foresight.fill(EVERYTHING, now, informed)
        assert foresight.planned == {"s0"}
        await foresight.fill(EVERYTHING, now - 3_600_000, informed)
        assert not foresight.planned
        await foresight.fill(EVERYTHING, now, informed)
        assert foresight.planned == {"s0"}
        await foresight.fill(EVERYTHING._replace(shards=frozenset()), now, informed)
        assert not foresight.planned

    play(script())
