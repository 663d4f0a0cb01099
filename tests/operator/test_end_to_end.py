"""The operator as a whole: one Job per period, whatever is killed or lost, and a status that agrees with the ledger."""

from dataclasses import replace

from kron.kube.names import job_name
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.key import key_of
from tests.kube.server import Fault
from tests.operator.running import START, defaults, until


def name_of(period, kronjob="report"):
    return job_name(kronjob, key_of(f"shop/{kronjob}", period))


def test_each_period_has_one_job_and_status_agrees(world):
    world.kronjob()

    async def use(life):
        await life.defined()
        for number in (1, 2):
            await life.pass_time(60)
            await until(lambda number=number: len(world.jobs) == number)
            world.server.end_job("shop", name_of(START + 60 * number), "Complete" if number == 1 else "Failed")
            await life.ended(number)
        await until(lambda: world.status().get("lastEnd") == "failed" and world.status()["active"] == 0)
        return await life.runs()

    failed, succeeded = world.run(use)
    assert (succeeded.state, succeeded.outcome) == (State.SUCCESS, Outcome.EXECUTED)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.FAILED)
    assert world.job_names() == sorted([name_of(START + 60), name_of(START + 120)])
    assert world.server.count("POST", "/jobs") == 3  # 2 periods, and 1 dry run
    status = world.status()
    assert status["lastPeriodID"] == "2026-03-01T10:02:00Z"
    assert status["lastJob"] == name_of(START + 120)
    assert status["nextRun"] == "2026-03-01T10:03:00Z"
    assert [each["end"] for each in status["recent"]] == ["failed", "success"]
    assert {name: each["status"] for name, each in world.conditions().items()} == {
        "Ready": "True",
        "Suspended": "False",
        "TemplateValid": "True",
    }


def test_kill_between_request_and_record_gives_one_job(world):
    world.kronjob()

    async def killed(life):
        await life.defined()
        world.server.fail("POST", "jobs", Fault(cut="hold"))
        await life.pass_time(55)
        await until(lambda: world.jobs)
        (run,) = await life.runs()
        return run

    world.options = replace(world.options, **defaults(0))  # a second launch would be too late
    assert world.run(killed).state is State.LAUNCHING
    world.server.released.set()

    async def restarted(life):
        world.server.end_job("shop", name_of(START + 60))
        return await life.ended()

    (run,) = world.run(restarted)
    assert (run.state, run.outcome) == (State.SUCCESS, Outcome.EXECUTED)
    assert world.job_names() == [name_of(START + 60)]


def test_claim_without_a_job_of_a_killed_operator_is_missed(world):
    """Its request never arrived: the deadline has passed, and nothing is in doubt."""
    world.options = replace(world.options, **defaults(0))
    world.kronjob()

    async def killed(life):
        await life.defined()
        world.server.fail("POST", "jobs", Fault(cut="stall"))
        await life.pass_time(55)
        await life.until(life.runs)
        (run,) = await life.runs()
        return run

    assert world.run(killed).state is State.LAUNCHING
    world.server.released.set()
    world.clock.advance(15)
    (run,) = world.run(lambda life: life.ended())
    assert (run.outcome, run.reason) == (Outcome.MISSED, Reason.DEADLINE)
    assert world.jobs == {}


def test_lost_store_keeps_forbid_and_fires_nothing_again(world):
    world.kronjob()

    async def first(life):
        await life.defined()
        await life.pass_time(60)
        await until(lambda: world.jobs)
        await until(lambda: world.status().get("lastPeriodID") == "2026-03-01T10:01:00Z")

    world.run(first)
    for file in world.file.parent.glob("kron.db*"):
        file.unlink()

    async def second(life):
        await life.defined()
        await life.pass_time(60)
        skipped = await life.ended()
        world.server.end_job("shop", name_of(START + 60))
        await life.ended(2)
        await life.pass_time(60)
        await until(lambda: len(world.jobs) == 2)
        return skipped

    (skipped,) = world.run(second)
    assert (skipped.nominal, skipped.outcome, skipped.reason) == (START + 120, Outcome.SKIPPED, Reason.OVERLAP)
    assert world.job_names() == sorted([name_of(START + 60), name_of(START + 180)])
    assert "Adopted" in world.reasons()


def test_edit_while_down_runs_no_old_period(world):
    """The new calendar has a period each minute; those before the edit are none of its."""
    world.kronjob(schedule="0 3 * * *")
    world.options = replace(world.options, **defaults(3600))
    world.run(lambda life: life.defined())
    edited_at = START + 605
    world.kronjob(schedule="* * * * *", at=edited_at)
    world.clock.advance(630)  # 10:10:35

    async def use(life):
        await life.defined(revision=2)
        await life.pass_time(60)
        await until(lambda: world.jobs)
        return await life.runs()

    assert [run.nominal for run in world.run(use)] == [START + 660]
