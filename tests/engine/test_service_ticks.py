"""Ticks of the service: on time by the wall clock, each once, and the next one known."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from kron import parse
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from kron.timing.key import key_of
from kron.timing.period import next_nominal
from kron.timing.schedule.policy import SERVICE, Catchup, Overlap
from kron.timing.zone import instant_of
from tests.engine.world import FOLLOWED, Still, World, play

BERLIN = ZoneInfo("Europe/Berlin")
NOON = instant_of("2026-03-01T12:00:00Z")
ALL = replace(SERVICE, catchup=Catchup.ALL, overlap=Overlap.ALLOW)


def wall(nominal):
    return datetime.fromtimestamp(nominal, BERLIN).strftime("%H:%M %Z")


async def of_the_service(now, text, policy=SERVICE, zone="UTC", duration=1, **more):
    world = World(now, duration=duration)
    await world.define(text, policy, dialect="service", zone=zone, **more)
    return world


def starts(world):
    return [launch.run.nominal for launch in world.target.starts]


@pytest.mark.req("SVC-GOAL-ONTIME", "SVC-PC-CRONNEXT", "SVC-ARCH-WORKER")
def test_it_wakes_on_the_wall_clock_of_its_zone_on_both_sides_of_a_clock_change():
    """Every half hour of the night in Berlin: 02:00 and 02:30 do not exist in March, and are twice in October."""

    async def script():
        spring = await of_the_service("2026-03-29T00:10:00Z", "*/30 1-3 * * *", zone="Europe/Berlin")
        await spring.run("2026-03-29T03:00:00Z")
        assert [wall(n) for n in starts(spring)] == ["01:30 CET", "03:00 CEST", "03:30 CEST"]
        autumn = await of_the_service("2026-10-24T23:10:00Z", "*/30 1-2 * * *", zone="Europe/Berlin")
        await autumn.run("2026-10-25T03:00:00Z")
        twice = ["02:00 CEST", "02:30 CEST", "02:00 CET", "02:30 CET"]
        assert [wall(n) for n in starts(autumn)] == ["01:30 CEST", *twice]
        assert all(launch.run.created == launch.run.due for launch in autumn.target.starts)  # to the millisecond
        assert len({launch.run.key for launch in autumn.target.starts}) == 5

    play(script())


@pytest.mark.req("SVC-TICK-EXPAND", "SVC-GOAL-ONTIME")
@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25", "2026-06-01"])
def test_all_that_fell_due_in_an_outage_is_expanded_hour_by_hour_of_the_wall_clock(day):
    async def script():
        world = await of_the_service(f"{day}T00:00:00Z", "0 * * * *", ALL, "Europe/Berlin")
        world.sleep(f"{day}T05:59:59Z")
        await world.tick()
        begin = instant_of(f"{day}T00:00:00Z")
        hours = [begin + 3600 * n for n in range(1, 6)]
        assert starts(world) == hours
        assert {wall(n)[:5] for n in hours} == {datetime.fromtimestamp(n, BERLIN).strftime("%H:00") for n in hours}

    play(script())


@pytest.mark.req("SVC-PC-CRONNEXT")
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"])
def test_the_next_tick_is_strictly_after(zone):
    schedule = parse("*/15 * * * *", dialect="service", timezone=zone)
    t = instant_of("2026-03-28T22:00:00Z")
    for _ in range(200):
        following = next_nominal(schedule, t)
        assert following > t
        assert next_nominal(schedule, following - 1) == following
        assert datetime.fromtimestamp(following, ZoneInfo(zone)).minute % 15 == 0
        t = following


@pytest.mark.req("SVC-ADVANCE", "SVC-PC-ADVANCE")
def test_after_a_tick_the_next_one_is_saved_whatever_was_missed():
    async def script():
        world = await of_the_service("2026-03-01T11:50:00Z", "*/15 * * * *")
        steps = (("12:00:00", "12:00"), ("12:00:30", "12:00"), ("13:07:00", "13:00"), ("13:15:00", "13:15"))
        for at, considered in steps:
            world.sleep(f"2026-03-01T{at}Z")
            await world.tick()
            world.restart()  # it is in the store, and nowhere else
            case = await world.registrar.get("job")
            assert case.cursor == instant_of(f"2026-03-01T{considered}:00Z")
            following = next_nominal(case.job.schedule, case.cursor)
            assert following * 1000 > world.clock.now() * 1000
            await world.tick()
            assert (await world.registrar.get("job")).next_check_at <= following * 1000
            assert (await world.registrar.preview("job"))[0] == following * 1000

    play(script())


@pytest.mark.req("SVC-PC-ADVANCE", "SVC-PC-QUEUEBREAK")
def test_what_waits_in_the_queue_is_kept_and_not_passed_over():
    async def script():
        queue = replace(FOLLOWED, overlap=Overlap.QUEUE)
        world = await of_the_service("2026-03-01T11:59:00Z", "* * * * *", queue, duration=150)
        await world.run("2026-03-01T12:03:59Z")
        assert await world.story() == "2 executed, 2 pending"
        world.restart()
        await world.run("2026-03-01T12:10:00Z")
        assert starts(world)[:4] == [NOON, NOON + 60, NOON + 120, NOON + 180]

    play(script())


@pytest.mark.req("SVC-PC-DEDUPE", "SVC-IDEM-EXISTS")
def test_a_tick_whose_key_exists_is_passed_over():
    """Somebody else has recorded 12:00 already, and the cursor has not moved past it."""

    async def script():
        world = await of_the_service("2026-03-01T11:50:00Z", "0,5 12 * * *", ALL)
        other = Worker(world.store, {"test": world.target}, Still(), owner="other")
        world.sleep("2026-03-01T12:00:00Z")
        await other.tick()
        await world.tick()
        (run,) = await world.store.runs("job", 10)
        assert (run.key, run.owner) == (key_of("job", NOON), "other")
        case = await world.registrar.get("job")
        twin = run._replace(state=State.PENDING, outcome=None, attempt=0, owner="")
        assert await world.store.commit([ScheduleUpdate(case, case, (twin,))], 0) == [False]
        await world.run("2026-03-01T12:06:00Z")
        assert starts(world) == [NOON, NOON + 300]

    play(script())


@pytest.mark.req("SVC-PC-QUERY")
@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("end", [None, NOON - 1, NOON, NOON + 1])
@pytest.mark.parametrize("cron", ["0 12 * * *", "1 12 * * *"])
def test_due_is_what_is_not_paused_not_ended_and_whose_time_has_come(paused, end, cron):
    async def script():
        world = await of_the_service("2026-03-01T11:50:00Z", cron, end=end)
        if paused:
            await world.registrar.pause("job")
        world.sleep("2026-03-01T12:00:00Z")
        await world.tick()
        due = not paused and (end is None or end >= NOON) and cron == "0 12 * * *"
        assert starts(world) == [NOON] * due

    play(script())


@pytest.mark.req("SVC-PC-BASE")
@pytest.mark.parametrize(
    ("start", "first"),
    [
        (None, "12:15"),
        ("2026-03-01T11:00:00Z", "12:15"),  # past: from now on
        ("2026-03-01T12:14:59Z", "12:15"),
        ("2026-03-01T12:15:00Z", "12:30"),  # strictly after it
        ("2026-03-01T13:10:00Z", "13:15"),
    ],
)
def test_the_first_tick_is_strictly_after_now_and_the_start(start, first):
    async def script():
        begin = instant_of(start) if start else None
        world = await of_the_service("2026-03-01T12:00:00Z", "*/15 * * * *", start=begin)
        await world.run("2026-03-01T14:00:00Z")
        assert datetime.fromtimestamp(starts(world)[0], UTC).strftime("%H:%M") == first

    play(script())


@pytest.mark.req("SVC-RETRY-LAUNCH")
def test_attempts_of_a_refused_launch_are_one_two_and_four_seconds_apart():
    async def script():
        world = await of_the_service("2026-03-01T11:59:00Z", "0 12 * * *")
        world.target.answers = [LaunchResult.RETRYABLE] * 3
        await world.run("2026-03-01T12:01:00Z")
        at = [launch.run.changed - NOON * 1000 for launch in world.target.starts]
        waits = [b - a for a, b in pairwise(at)]
        assert all(0.75 * n <= wait <= n for n, wait in zip((1_000, 2_000, 4_000), waits, strict=True))  # less jitter
        assert await world.story() == "1 executed"

    play(script())
