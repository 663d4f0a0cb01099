"""Runs that somebody asks for: once a request, whatever else has its name."""

import pytest

from kron import KronError
from tests.engine.world import World, play


def test_a_backfill_and_a_run_by_hand_may_have_one_name():
    async def script():
        world = World("2026-03-01T12:10:00Z")
        case = await world.define("* * * * *")
        now = await world.store.now() // 1000
        alone = await world.registrar.trigger(case.identity, "again")
        many = await world.registrar.backfill(case.identity, now - 60, now, "again")
        assert now in {run.nominal for run in many}
        assert alone.nominal == now
        assert len({(run.nominal, run.trigger) for run in (alone, *many)}) == len(many) + 1

    play(script())


def test_a_run_by_hand_cannot_be_called_like_a_backfill():
    async def script():
        world = World("2026-03-01T12:10:00Z")
        case = await world.define("* * * * *")
        with pytest.raises(KronError, match="reserved for backfills"):
            await world.registrar.trigger(case.identity, "backfill:again")

    play(script())
