"""The operator as a whole: one Job per period, whatever is killed or lost, and a status that agrees with the ledger."""

import asyncio
from dataclasses import replace

import pytest

from kron.kube.names import job_name
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.key import key_of
from tests.kube.server import Fault
from tests.operator.running import ALLOWED, START, UNSENT, defaults, until


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


def test_replace_deletes_the_job_before_the_next_one(world):
    world.kronjob(policy={"concurrency": "replace"})

    async def use(life):
        await life.defined()
        await life.pass_time(60)
        await until(lambda: world.job_names() == [name_of(START + 60)])
        await life.pass_time(60)
        await until(lambda: world.job_names() == [name_of(START + 120)])
        (run, *_) = await life.ended()
        await until(lambda: "Replaced" in world.reasons())
        return run

    run = world.run(use)
    assert (run.nominal, run.state) == (START + 60, State.CANCELLED)
    requests = [method for method, path, query in world.server.requests if "/jobs" in path and "dryRun" not in query]
    writes = [method for method in requests if method in ("POST", "DELETE")]
    assert writes == ["POST", "DELETE", "POST"]


def test_history_events_and_deletion(world):
    world.kronjob(successfulJobsHistoryLimit=0)
    world.server.fail("DRY RUN", "jobs", Fault(422, reason="Invalid"))

    async def use(life):
        await life.defined()
        await until(lambda: world.conditions().get("TemplateValid", {}).get("status") == "False")
        await life.pass_time(60)
        await until(lambda: world.jobs)
        world.server.end_job("shop", name_of(START + 60))
        await until(lambda: not world.jobs)
        await until(lambda: "TemplateInvalid" in world.reasons())
        world.server.remove("kronjobs", "shop", "report")
        await life.until(life.is_deleted)
        await life.pass_time(300)
        return await life.runs()

    (run,) = world.run(use)
    assert run.state is State.SUCCESS
    assert world.jobs == {}
    assert world.calls() <= ALLOWED - UNSENT
    assert ALLOWED - UNSENT - world.calls() <= {("jobs", "get")}


def test_request_and_pause_by_annotations(world):
    world.kronjob(schedule="0 3 * * *")

    async def use(life):
        await life.defined()
        world.annotate(pause="wait for the migration", run="ticket-5")
        await until(lambda: world.jobs)
        await until(lambda: world.conditions().get("Suspended", {}).get("reason") == "Paused")
        (run,) = await life.runs()
        return run

    run = world.run(use)
    assert run.trigger == "ticket-5"
    (job,) = world.jobs.values()
    assert job["metadata"]["annotations"]["kron.io/trigger"] == "ticket-5"


def test_probe_tells_readiness_and_metrics(world):
    world.options = replace(world.options, listen=("127.0.0.1", 0))
    world.kronjob()

    async def use(life):
        await life.defined()
        (event,) = life.sink.named("operator_listening")
        host, port = event.facts["address"].split(":")

        async def get(path):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            answer = (await reader.read()).decode()
            writer.close()
            return answer

        async def is_ready():
            return " 200 " in (await get("/readyz")).splitlines()[0]

        await life.until(is_ready)
        return await get("/livez"), await get("/metrics")

    live, metrics = world.run(use)
    assert " 200 " in live.splitlines()[0]
    assert "kron_operator_kronjobs 1" in metrics
    assert "kron_worker_passes_total" in metrics
    assert "kron_operator_kronjob_" not in metrics


@pytest.mark.parametrize(("faults", "writes"), [([], 1), ([Fault(403, reason="Forbidden")], 2)])
def test_new_kronjob_has_its_status_after_its_check(world, faults, writes):
    world.server.fail("DRY RUN", "jobs", *faults)
    world.kronjob()

    async def use(life):
        await until(lambda: world.conditions().get("TemplateValid"))
        return world.server.count("PATCH", "/status")

    assert world.run(use) == writes  # a check that was refused for another reason keeps no status waiting


def test_metrics_per_job_count_the_jobs_of_a_kronjob(world):
    world.options = replace(world.options, metrics_per_job=True)
    world.kronjob()
    series = 'kron_operator_kronjob_jobs_created_total{namespace="shop",name="report"} 1'

    async def use(life):
        await life.defined()
        await life.pass_time(60)

        async def is_counted():
            return series in (await life.operator._metrics_text()).splitlines()

        await life.until(is_counted)

    world.run(use)
