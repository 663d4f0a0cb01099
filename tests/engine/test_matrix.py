"""The behavior matrix: each situation under each preset, as docs/reference/policies.md tells it."""

from dataclasses import replace

import pytest

from kron.rules.launch_result import LaunchResult
from kron.timing.schedule.policy import DECLARATIVE, KRON, MINUTE, Catchup, Overlap
from kron.timing.zone import instant_of
from tests.docs.page import ROOT, table
from tests.engine.world import FOLLOWED, World, play

PAGE = ROOT / "docs" / "reference" / "policies.md"
QUARTERS = "*/15 * * * *"
PRESETS = {
    "declarative": DECLARATIVE,
    "kron": replace(KRON, deadline=20 * MINUTE),
    "none": FOLLOWED,
    "fire": replace(FOLLOWED, catchup=Catchup.ALL),
    "spread": replace(FOLLOWED, catchup=Catchup.SPREAD),
}


async def matches_the_current_minute(policy):
    world = World("2026-03-01T12:15:20Z", duration=1)
    await world.define(QUARTERS, policy)
    await world.run("2026-03-01T12:16:30Z")
    return world


async def before_registration(policy):
    world = World("2026-03-01T12:20:00Z", duration=1)
    await world.define(QUARTERS, policy)
    await world.run("2026-03-01T12:25:00Z")
    return world


async def on_time(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy)
    await world.run("2026-03-01T12:20:00Z")
    return world


async def late_within_the_resolution(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy)
    world.sleep(float(world.clock.now() + 300.9))
    await world.run("2026-03-01T12:20:00Z")
    return world


async def one_missed(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy)
    world.sleep("2026-03-01T12:25:00Z")
    await world.run("2026-03-01T12:28:00Z")
    return world


async def four_missed(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, replace(policy, overlap=Overlap.QUEUE) if policy is not DECLARATIVE else policy)
    world.sleep("2026-03-01T13:10:00Z")
    await world.run("2026-03-01T13:14:00Z")
    return world


async def previous_run_still_active(policy):
    world = World("2026-03-01T12:10:00Z", duration=20 * 60)
    await world.define(QUARTERS, policy)
    await world.run("2026-03-01T12:50:00Z")
    return world


async def launch_rejected(policy):
    world = World("2026-03-01T12:10:00Z", duration=1, answers=[LaunchResult.REJECTED])
    await world.define(QUARTERS, policy)
    await world.run("2026-03-01T12:20:00Z")
    return world


async def launch_keeps_failing(policy):
    world = World("2026-03-01T12:10:00Z", duration=1, answers=[LaunchResult.RETRYABLE] * 50)
    await world.define("0 * * * *", policy)
    await world.run("2026-03-01T13:50:00Z")
    return world


async def worker_dies_after_the_claim(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy)

    def die(plans, *_):
        raise SystemExit

    world.worker.dispatcher.submit = die
    with pytest.raises(SystemExit):
        await world.run("2026-03-01T12:20:00Z")
    world.restart()
    await world.run("2026-03-01T12:20:00Z")
    return world


async def run_stops_reporting(policy):
    world = World("2026-03-01T12:10:00Z")
    await world.define("0 13 * * *", policy)
    await world.run("2026-03-01T13:30:00Z")
    world.target.duration = 1
    await world.run("2026-03-01T14:30:00Z")
    return world


async def four_periods_during_a_pause(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy)
    await world.registrar.pause("job")
    await world.run("2026-03-01T13:10:00Z")
    await world.registrar.resume("job")
    await world.run("2026-03-01T13:12:00Z")
    return world


async def pause_expires(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy)
    await world.registrar.pause("job", until=instant_of("2026-03-01T13:00:00Z") * 1000)
    await world.run("2026-03-01T13:02:00Z")
    return world


async def schedule_ends_during_downtime(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy, end=instant_of("2026-03-01T12:45:00Z"))
    world.sleep("2026-03-01T13:00:00Z")
    await world.run("2026-03-01T13:02:00Z")
    return world


async def dst_gap(policy):
    world = World("2026-03-28T12:00:00Z", duration=1)
    await world.define("30 2 * * * @tz(Europe/Berlin)", policy)
    await world.run("2026-03-29T20:00:00Z")
    return world


async def dst_fold(policy):
    world = World("2026-10-24T12:00:00Z", duration=1)
    await world.define("30 2 * * * @tz(Europe/Berlin)", policy)
    await world.run("2026-10-25T20:00:00Z")
    return world


async def clock_set_back(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy)
    await world.run("2026-03-01T12:16:00Z")
    world.sleep("2026-03-01T12:10:00Z")
    await world.run("2026-03-01T12:20:00Z")
    return world


async def deleted_and_recreated(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define(QUARTERS, policy)
    await world.run("2026-03-01T12:15:10Z")
    await world.registrar.delete("job")
    await world.define(QUARTERS, policy)
    await world.run("2026-03-01T12:20:00Z")
    return world


async def no_valid_time(policy):
    world = World("2026-03-01T12:10:00Z", duration=1)
    await world.define("15 12 * * * @only(hours=3)")
    case = await world.registrar.get("job")
    schedule = replace(case.job.schedule, policy=policy)
    await world.registrar.upsert(replace(case.job, schedule=schedule))
    await world.run("2026-03-01T12:20:00Z")
    return world


SITUATIONS = {
    name.replace("_", " "): value
    for name, value in list(globals().items())
    if name.islower() and callable(value) and getattr(value, "__module__", "") == __name__ and name != "play"
}


async def told(situation, preset):
    world = await SITUATIONS[situation](PRESETS[preset])
    return await world.story()


HEADS = list(PRESETS)
CELLS = [(row[0], preset, cell) for row in table(PAGE, "matrix") for preset, cell in zip(HEADS, row[1:], strict=True)]


@pytest.mark.parametrize(("situation", "preset", "cell"), CELLS, ids=lambda value: str(value)[:40])
def test_each_situation_ends_as_the_page_says(situation, preset, cell):
    assert play(told(situation, preset)) == cell


def test_the_page_tells_every_situation():
    assert [row[0] for row in table(PAGE, "matrix")] == list(SITUATIONS)


if __name__ == "__main__":
    print("| situation |", " | ".join(PRESETS), "|")
    for situation in SITUATIONS:
        cells = [play(told(situation, preset)) for preset in PRESETS]
        print(f"| {situation} | " + " | ".join(cells) + " |")
