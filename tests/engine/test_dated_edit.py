"""Edits that are read later than they were made: the ledger is the one of an edit that was read at once."""

import random
from functools import partial

import pytest

from kron.engine.registrar import Actor
from kron.timing.zone import instant_of
from tests.engine.test_handover import BEGIN, a_definition, a_job
from tests.engine.world import World, play

HOURLY, HALF = "0 * * * * @policy(deadline=2h)", "30 * * * * @policy(deadline=2h)"
EDIT = instant_of("2026-03-01T12:10:00Z") * 1000


async def edited_while_down(first, second, as_of):
    world = World("2026-03-01T11:00:00Z", duration=1)
    await world.define(first)
    await world.run("2026-03-01T11:45:00Z")
    world.sleep("2026-03-01T13:10:00Z")
    await world.define(second, as_of=as_of)
    await world.run("2026-03-01T13:15:00Z")
    return {run.nominal for run in await world.store.runs("job", 100)}


def times(*texts):
    return {instant_of(f"2026-03-01T{text}:00Z") for text in texts}


def test_edit_during_a_downtime_launches_no_period_that_the_old_definition_had_after_the_edit():
    """The old definition keeps 12:00. The new one has 12:30; 13:00 is in neither."""
    assert play(edited_while_down(HOURLY, HALF, EDIT)) == times("11:00", "12:00", "12:30")
    assert play(edited_while_down(HOURLY, HALF, None)) == times("11:00", "12:00", "13:00")


@pytest.mark.parametrize(("as_of", "expected"), [(EDIT, ("12:30",)), (None, ()), (EDIT + 10 * 3_600_000, ())])
def test_job_that_was_added_during_a_downtime_runs_what_was_due_since_then(as_of, expected):
    async def script():
        world = World("2026-03-01T13:10:00Z", duration=1)
        await world.define(HALF, as_of=as_of)
        await world.run("2026-03-01T13:15:00Z")
        return {run.nominal for run in await world.store.runs("job", 100)}

    assert play(script()) == times(*expected)


def test_edit_is_not_dated_before_the_definition_that_it_replaces():
    async def script():
        world = World("2026-03-01T12:00:30Z", duration=1)
        await world.define(HOURLY)
        world.sleep("2026-03-01T12:20:00Z")
        state = await world.define(HALF, as_of=EDIT - 3_600_000)
        return state.effective_from

    assert play(script()) == (instant_of("2026-03-01T12:00:30Z")) * 1000


def test_edit_of_a_paused_schedule_is_dated_when_it_is_read():
    async def script():
        world = World("2026-03-01T11:00:30Z", duration=1)
        await world.define(HOURLY)
        world.sleep("2026-03-01T12:20:00Z")
        await world.registrar.pause("job")
        world.sleep("2026-03-01T12:40:00Z")
        return (await world.define(HALF, as_of=EDIT)).effective_from

    assert play(script()) == instant_of("2026-03-01T12:40:00Z") * 1000


async def ledger(seed, *, read_at_once):
    """A schedule is created, a worker runs for a while, and the schedule is edited before the next worker comes."""
    dice = random.Random(seed)
    world = World("2026-04-04T12:00:00Z", duration=1)
    begin = float(BEGIN)
    alive, down, away = (dice.choice([1, 97, 600, 1777, 3600, 5000]) + dice.choice([0, 0.25]) for _ in range(3))
    first, second = a_definition(dice), a_definition(dice)
    world.sleep(begin)
    if dice.random() < 0.8:
        await world.registrar.upsert(a_job(first))
        await world.run(begin + alive)
    edit, back = begin + alive + down, begin + alive + down + away
    if read_at_once:
        world.sleep(edit)
        await world.registrar.upsert(a_job(second))
        world.sleep(back)
    else:
        world.sleep(back)
        await world.registrar.upsert_all([(a_job(second), Actor())], as_of=int(edit * 1000))
    await world.run(back + 10_000)
    runs = await world.store.runs("job", 100_000)
    gaps = [(gap.first, gap.last, gap.count, gap.reason) for gap in await world.store.gaps("job")]
    return sorted((run.nominal, run.due, run.revision, run.outcome, run.reason) for run in runs), sorted(gaps)


@pytest.mark.parametrize("part", range(2))
def test_edit_that_is_read_late_gives_the_ledger_of_one_that_was_read_at_once(part):
    for seed in range(part * 150, part * 150 + 150):
        expected, found = (play(partial(ledger, seed, read_at_once=early)()) for early in (True, False))
        assert found == expected, f"seed {seed}"
