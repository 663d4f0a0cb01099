"""The seeded store has every kind of trouble, and is the same in memory and in a file."""

import asyncio

from kron.rules.outcome import Reason
from kron.rules.run_state import State
from tests.dashboard.seeded import NOW, START


async def counts(store):
    outcomes = await store.overview.outcomes("", START // 60 * 60, NOW // 60 * 60 + 60, 60)
    totals = {}
    for each in outcomes:
        totals[each.state, each.reason] = totals.get((each.state, each.reason), 0) + each.periods
    return totals


def test_seeded_store_has_every_kind_of_trouble(seeded):
    totals = asyncio.run(counts(seeded))
    for end in (
        (State.FAILED, Reason.FAILED),
        (State.FAILED, Reason.TIMEOUT),
        (State.FAILED, Reason.LAUNCH_FAILED),
        (State.LOST, Reason.SILENT),
        (State.UNKNOWN, Reason.UNKNOWN),
        (State.MISSED, Reason.CATCHUP_NONE),
        (State.MISSED, Reason.DEADLINE),
        (State.SKIPPED, Reason.OVERLAP),
        (State.UNSCHEDULABLE, Reason.CONSTRAINTS),
    ):
        assert totals[end] > 0, end
    assert totals[State.SUCCESS, None] > 1_000


def test_seeded_file_has_the_same_records_as_memory(seeded, seeded_file):
    async def records(store):
        names = await store.identities("", 100)
        return (
            await counts(store),
            names,
            await store.overview.running("", 50),
            await store.overview.recent(names, 20),
            [
                (*each.position[:3], each.change.actor, each.change.note)
                for each in await store.overview.activity("", 100)
            ],
            await store.dead_letters("", 20),
            await store.overview.workers(),
        )

    assert asyncio.run(records(seeded_file)) == asyncio.run(records(seeded))


def test_seeded_store_ends_with_active_runs_and_a_late_one(seeded):
    async def check():
        running = [run.identity for run in await seeded.overview.running("", 50)]
        assert running[:2] == ["reports.board", "ml.features"]
        assert set(running[2:]) == {"cache.warm", "ml.embeddings"}
        (late,) = await seeded.get(["orders.sync"])
        assert late.next_check_at == (NOW - 137) * 1000
        assert await seeded.now() == NOW * 1000

    asyncio.run(check())
