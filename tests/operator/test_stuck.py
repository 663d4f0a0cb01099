"""Stuck Jobs: told once, shown as Degraded, and never killed."""

from dataclasses import replace

import pytest

from kron.apps.cli import main
from kron.kube.kind import Place
from kron.kube.names import job_name
from kron.rules.run_state import State
from kron.timing.key import key_of
from kron.timing.zone import rfc3339
from tests.operator.running import START, until

HOUR = 3_600


def name_of(period):
    return job_name("report", key_of("shop/report", period))


def start_job(world, period, *, at, ready=0):
    """Let the controller of Jobs begin with a Job."""
    body = world.jobs["shop", name_of(period)]
    body = {**body, "status": {"startTime": rfc3339(at), "active": 1, "ready": ready}}
    world.server.put("jobs", "shop", name_of(period), body)
    return body


async def begun(life, period, *, ready=0):
    """Wait until the Job of a period is there, and let it begin."""
    world = life.world
    await until(lambda: ("shop", name_of(period)) in world.jobs)
    start_job(world, period, at=int(world.clock.now()), ready=ready)
    place, at = Place("shop", name_of(period)), int(world.clock.now()) * 1000
    await until(lambda: (found := life.operator.cluster.job(place)) and found.started_at == at)


def degraded(world):
    return world.conditions().get("Degraded", {})


@pytest.mark.parametrize(("ready", "is_stuck"), [(0, True), (1, False)])
def test_job_without_a_ready_pod_is_stuck_after_hours(world, ready, is_stuck):
    world.kronjob(schedule="1 10 * * *")

    async def use(life):
        await life.defined()
        await life.pass_time(60)
        await begun(life, START + 60, ready=ready)
        world.clock.advance(5 * HOUR)
        await life.operator.stuck.look()
        assert life.operator.stuck._found == {}
        world.clock.advance(HOUR + 60)
        await life.operator.stuck.look()
        await life.operator.stuck.look()
        if is_stuck:
            await until(lambda: degraded(world).get("status") == "True")
            await until(lambda: "JobStuck" in world.reasons())
        else:
            assert life.operator.stuck._found == {}

    world.run(use)
    assert world.job_names() == [name_of(START + 60)], "it is not killed"
    if is_stuck:
        assert degraded(world)["reason"] == "JobStuck"
        assert degraded(world)["message"] == f"Job {name_of(START + 60)} is active for 6h1m and has no ready pod."
        assert world.reasons().count("JobStuck") == 1


def test_job_is_stuck_after_three_times_the_median_and_recovers_with_its_end(world):
    """The runs before took 200 s each. A pod is ready, so only the median counts."""
    world.kronjob(schedule="*/10 * * * *")

    async def use(life):
        await life.defined()
        for number in (1, 2, 3):
            period = START + 600 * number
            await life.pass_time(period - int(world.clock.now()))
            await until(lambda period=period: ("shop", name_of(period)) in world.jobs)
            world.clock.advance(200)
            world.server.end_job("shop", name_of(period), at=rfc3339(int(world.clock.now())))
            await life.ended(number)
        await life.pass_time(START + 2400 - int(world.clock.now()))
        await begun(life, START + 2400, ready=1)
        world.clock.advance(590)
        await life.operator.stuck.look()
        assert life.operator.stuck._found == {}
        world.clock.advance(30)
        await life.operator.stuck.look()
        await until(lambda: degraded(world).get("status") == "True")
        message = degraded(world)["message"]
        world.server.end_job("shop", name_of(START + 2400), at=rfc3339(int(world.clock.now())))
        await life.ended(4)
        await life.operator.stuck.look()
        await until(lambda: degraded(world).get("status") == "False")
        return message, await life.runs()

    message, runs = world.run(use)
    assert message == f"Job {name_of(START + 2400)} is active for 10m. The median of the last runs is 3m20s."
    assert degraded(world)["reason"] == "AsExpected"
    assert {run.state for run in runs} == {State.SUCCESS}


def test_job_without_a_ready_pod_is_not_stuck_if_the_option_is_0(world):
    world.options = replace(world.options, stuck_after_ms=0)
    world.kronjob(schedule="1 10 * * *")

    async def use(life):
        await life.defined()
        await life.pass_time(60)
        await begun(life, START + 60)
        world.clock.advance(100 * HOUR)
        await life.operator.stuck.look()
        return life.operator.stuck._found

    assert world.run(use) == {}


def test_option_that_is_no_duration_is_refused(capsys):
    status = main(["operator", "run", "--store", "memory:", "--stuck-after", "6"])
    assert (status, "--stuck-after" in capsys.readouterr().err) == (2, True)
