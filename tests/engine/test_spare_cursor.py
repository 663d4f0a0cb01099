"""Schedules of a lost store: a store that is made again does not owe what the lost one has handled."""

import pytest

from kron.language import parse
from kron.timing.job import Job
from kron.timing.zone import instant_of
from tests.engine.world import World, play

HOURLY = parse("0 * * * * @policy(deadline=24h)", dialect="kron")
BEGIN = instant_of("2026-03-01T08:30:00Z") * 1000


def hour(number):
    return instant_of(f"2026-03-01T{number:02}:00:00Z")


async def runs_of_new_store(after, *, delete=False):
    world = World("2026-03-01T12:10:00Z", duration=1)
    job = Job("job", HOURLY, target="test:it")
    if delete:
        await world.registrar.upsert(job)
        await world.registrar.delete("job")
    await world.registrar.upsert(job, as_of=BEGIN, after=after)
    await world.run("2026-03-01T12:20:00Z")
    return {run.nominal for run in await world.store.runs("job", 100)}


@pytest.mark.parametrize(
    ("after", "expected"),
    [(None, {9, 10, 11, 12}), (hour(10), {11, 12}), (hour(12), set()), (hour(7), {9, 10, 11, 12})],
)
def test_new_schedule_owes_only_periods_after_the_spare_cursor(after, expected):
    assert play(runs_of_new_store(after)) == {hour(number) for number in expected}


def test_deleted_schedule_keeps_its_own_cursor_if_that_is_later():
    assert play(runs_of_new_store(hour(10), delete=True)) == set()


def test_spare_cursor_in_the_future_is_not_believed():
    """Whoever may write the status of a KronJob could otherwise stop its schedule for years."""

    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.registrar.upsert(Job("job", HOURLY, target="test:it"), after=instant_of("2030-01-01T00:00:00Z"))
        await world.run("2026-03-01T13:20:00Z")
        return {run.nominal for run in await world.store.runs("job", 100)}

    assert play(script()) == {hour(13)}


def test_existing_schedule_ignores_the_spare_cursor():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        job = Job("job", HOURLY, target="test:it")
        first = await world.registrar.upsert(job)
        second = await world.registrar.upsert(Job("job", HOURLY, target="test:other"), after=hour(12))
        return first.cursor, second.cursor

    first, second = play(script())
    assert first == hour(12) + 600 - 1
    assert second == hour(12) + 600
