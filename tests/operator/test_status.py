"""Status: what it says agrees with the ledger, it is written rarely, and the spare cursor never goes back."""

import asyncio
import json

from kron.apps.operator.definition import job_of_kronjob
from kron.apps.operator.status import StatusWriter
from kron.apps.operator.status_fields import Facts, status_of
from kron.engine.events import Event
from kron.kube.failure import Refusal
from kron.kube.names import job_name
from kron.language.record import verify
from kron.rules.gap_record import GapRecord
from kron.rules.launch_result import LaunchResult, Report, answered
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause import Actor
from kron.rules.update import RunUpdate
from tests.operator.making import IDENTITY, PLACE, START, Ledger, a_kronjob
from tests.operator.test_crd import ROOT
from tests.operator.validation import problems

SCHEMA = ROOT["properties"]["status"]


class Server:
    """Keeps the status of one KronJob, as an API server does."""

    def __init__(self, made):
        self.made, self.patches, self.failures = made, [], []

    async def patch_status(self, kind, place, patch):
        if self.failures:
            raise self.failures.pop(0)
        self.patches.append(patch)
        status = {**self.made.kronjob.status, **patch}
        status = {name: value for name, value in status.items() if value is not None}
        assert problems(SCHEMA, status) == []
        text = json.dumps(status).encode()
        self.made.kronjob = self.made.kronjob._replace(status_text=text)


class Made(Ledger):
    """A ledger with one schedule, and the part that writes its status."""

    def __init__(self, **spec):
        super().__init__()
        self.kronjob, self.error, self.template = a_kronjob(**spec), "", None
        self.server = Server(self)
        self.writer = StatusWriter(
            self.server,
            self.store,
            self.identities,
            lambda place: self.kronjob,
            error=lambda place: self.error,
            template=lambda kronjob: self.template,
            interval=0.05,
        )

    async def define(self):
        await self.registrar.upsert(job_of_kronjob(PLACE, self.kronjob.spec, self.identities.defaults))

    async def sent(self, run):
        """Record that the Job of a claimed run was created."""
        now, state = await self.store.now(), await self.state()
        after = answered(run, LaunchResult.OK, state.policy, now)
        assert await self.store.update_runs([RunUpdate(run, after, after.lease)], now) == [True]

    async def written(self):
        await self.writer.write(PLACE)
        return self.kronjob.status


def tried(work, **spec):
    async def main():
        made = Made(**spec)
        await made.define()
        return await work(made)

    return asyncio.run(main())


def test_status_follows_a_run_from_claim_to_end():
    async def work(made):
        before = await made.written()
        (run,) = (await made.planned(START + 60)).new
        await made.sent(run)
        running = await made.written()
        made.clock.time = START + 90
        await made.registrar.report(run.key, Report.SUCCESS)
        return before, running, await made.written(), run

    before, running, ended, run = tried(work)
    assert (before["nextRun"], before["active"], before["recent"]) == ("2026-03-01T10:01:00Z", 0, [])
    assert "lastPeriodID" not in before
    assert (running["active"], running["lastOutcome"], running["lastPeriodID"]) == (
        1,
        "executed",
        "2026-03-01T10:01:00Z",
    )
    assert "lastEnd" not in running
    assert (ended["active"], ended["lastEnd"]) == (0, "success")
    assert ended["lastSuccessfulTime"] == "2026-03-01T10:01:30Z"
    assert ended["lastJob"] == job_name("report", run.key)
    assert ended["recent"] == [
        {
            "periodID": "2026-03-01T10:01:00Z",
            "chosen": "2026-03-01T10:01:00Z",
            "outcome": "executed",
            "job": ended["lastJob"],
            "end": "success",
        }
    ]


def test_decision_in_the_status_can_be_verified():
    async def work(made):
        await made.planned(START + 60)
        await made.planned(START + 120)
        return await made.written()

    status = tried(work, window={"mode": "after", "duration": "30s"})
    assert verify(status["lastDecision"]) == []


def test_skipped_period_has_its_reason_and_keeps_the_last_job():
    async def work(made):
        (run,) = (await made.planned(START + 60)).new
        await made.sent(run)
        await made.planned(START + 120)
        return await made.written(), run

    status, run = tried(work)
    assert (status["lastOutcome"], status["lastReason"]) == ("skipped", "overlap")
    assert status["lastJob"] == job_name("report", run.key)
    assert [each["outcome"] for each in status["recent"]] == ["skipped", "executed"]


def test_unchanged_status_is_not_written():
    async def work(made):
        await made.written()
        made.clock.advance(10)
        await made.written()
        return len(made.server.patches)

    assert tried(work) == 1


def test_only_changed_fields_are_written():
    async def work(made):
        await made.written()
        await made.planned(START + 60)
        await made.written()
        return made.server.patches[-1]

    patch = tried(work)
    assert "conditions" not in patch
    assert patch["nextRun"] == "2026-03-01T10:02:00Z"


def test_last_period_never_goes_back():
    kronjob = a_kronjob(status={"lastPeriodID": "2026-03-01T12:00:00Z"})

    async def work(made):
        made.kronjob = kronjob
        await made.planned(START + 60)
        return await made.written()

    assert tried(work)["lastPeriodID"] == "2026-03-01T12:00:00Z"


def test_gap_record_is_the_last_outcome_if_it_is_newer():
    async def work(made):
        await made.planned(START + 60)
        state, runs = await made.state(), await made.runs()
        gap = GapRecord(START + 120, START + 300, 4, Outcome.SKIPPED, Reason.PAUSED)
        return status_of(Facts(made.kronjob, state, tuple(runs), gap, "", None), {}, (START + 310) * 1000)

    status = tried(work)
    assert (status["lastOutcome"], status["lastReason"]) == ("skipped", "paused")
    assert (status["lastNominalTime"], status["lastPeriodID"]) == ("2026-03-01T10:05:00Z", "2026-03-01T10:05:00Z")


def conditions(status):
    return {each["type"]: each for each in status["conditions"]}


def test_conditions_tell_what_is_wrong_and_since_when():
    async def work(made):
        good = await made.written()
        made.clock.advance(10)
        made.error, made.kronjob = "bad hour", made.kronjob._replace(generation=2)
        await made.registrar.pause(IDENTITY, Actor("operator", "bad hour"))
        bad = await made.written()
        made.clock.advance(10)
        made.error = "bad minute"
        return good, bad, await made.written()

    good, bad, still = map(conditions, tried(work))
    assert (good["Ready"]["status"], good["Suspended"]["status"]) == ("True", "False")
    assert not any("message" in each for each in good.values())  # Kubernetes 1.20 refuses an empty one
    assert (bad["Ready"]["status"], bad["Ready"]["reason"], bad["Ready"]["message"]) == (
        "False",
        "InvalidSpec",
        "bad hour",
    )
    assert (bad["Suspended"]["status"], bad["Suspended"]["reason"]) == ("True", "Paused")
    assert bad["Ready"]["observedGeneration"] == 2
    assert bad["Ready"]["lastTransitionTime"] > good["Ready"]["lastTransitionTime"]
    assert still["Ready"]["message"] == "bad minute"
    assert still["Ready"]["lastTransitionTime"] == bad["Ready"]["lastTransitionTime"]


def test_suspended_kronjob_has_no_next_run():
    status = tried(lambda made: made.written(), policy={"suspend": True})
    assert conditions(status)["Suspended"]["reason"] == "Suspended"
    assert "nextRun" not in status


def test_template_is_judged_once_and_the_judgment_stays():
    async def work(made):
        made.template = {"type": "TemplateValid", "status": "False", "reason": "Invalid", "message": "no image"}
        await made.written()
        made.template, made.error = None, "another change"
        return await made.written()

    assert conditions(tried(work))["TemplateValid"]["message"] == "no image"


def test_kronjob_without_a_schedule_has_only_conditions():
    made = Made()
    made.error = "unreadable"
    status = asyncio.run(made.written())
    assert set(status) == {"observedGeneration", "conditions"}


def test_many_events_are_one_write():
    async def work(made):
        task = asyncio.ensure_future(made.writer.queue.run())
        await made.planned(START + 60)
        for _ in range(100):
            made.writer.receive(Event("run_finished", 0, {"identity": IDENTITY}))
        made.writer.receive(Event("pass", 0, {}))
        made.writer.receive(Event("run_finished", 0, {"identity": "no-kronjob"}))
        async with asyncio.timeout(30):
            while not made.writer.queue.is_idle:
                await asyncio.sleep(0.01)
        task.cancel()
        return made.server.patches

    assert len(tried(work)) == 1


def test_start_and_end_of_a_short_job_are_one_write():
    async def work(made):
        task, loop = asyncio.ensure_future(made.writer.queue.run()), asyncio.get_running_loop()
        (run,) = (await made.planned(START + 60)).new
        made.writer.receive(Event("run_recorded", 0, {"identity": IDENTITY}))
        assert made.writer.queue._due[PLACE] > loop.time() + 5  # its launch is expected first
        await made.sent(run)
        for name in ("launch_completed", "run_started"):
            made.writer.receive(Event(name, 0, {"identity": IDENTITY}))
        assert made.writer.queue._due[PLACE] < loop.time() + 1
        await made.registrar.report(run.key, Report.SUCCESS)
        made.writer.receive(Event("run_finished", 0, {"identity": IDENTITY}))
        async with asyncio.timeout(30):
            while not made.writer.queue.is_idle:
                await asyncio.sleep(0.01)
        task.cancel()
        return made.server.patches

    (patch,) = tried(work)
    assert (patch["active"], patch["lastEnd"]) == (0, "success")


def test_failed_write_is_repeated_and_a_kronjob_that_is_gone_is_not():
    async def work(made):
        task = asyncio.ensure_future(made.writer.queue.run())
        made.server.failures += [Refusal(503, {})]
        made.writer.changed(PLACE)
        async with asyncio.timeout(30):
            while not made.server.patches:
                await asyncio.sleep(0.01)
        await made.planned(START + 60)
        made.server.failures += [Refusal(404, {})]
        await made.writer.write(PLACE)
        task.cancel()
        return made.server.patches

    assert len(tried(work)) == 1
