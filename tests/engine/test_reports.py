"""Reports that come together are written together, and nobody waits for one who was cancelled."""

import asyncio
import gc
from dataclasses import replace

import pytest

from kron.engine.clock import ManualClock
from kron.engine.events import Memory
from kron.engine.launcher import Launch
from kron.engine.report_writer import ReportWriter
from kron.engine.tenant_scope import set_tenant_scope, tenant_scope
from kron.errors import UnreadableRecord
from kron.launchers.python import PythonLauncher
from kron.rules.delay import launch_delay
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from kron.stores.memory import MemoryStore
from kron.timing.schedule.policy import SECOND, SERVICE
from tests.engine.world import World, play
from tests.stores.making import NOW, a_case, a_run


class Slow(MemoryStore):
    """A store whose changes take their time, and may fail."""

    def __init__(self):
        super().__init__(ManualClock(NOW / 1000))
        self.batches, self.gate, self.fails = [], asyncio.Event(), False

    async def update_runs(self, changes, now):
        self.batches.append(len(changes))
        await self.gate.wait()
        if self.fails:
            raise OSError("the disk is full")
        return await super().update_runs(changes, now)


async def launched(store, count):
    """So many runs that are going."""
    case = a_case()
    runs = [a_run(State.ENQUEUED, n) for n in range(1, count + 1)]
    await store.commit([ScheduleUpdate(None, case._replace(cursor=0))], NOW)
    for run in runs:
        store._put(run)
    return [Launch(run, case.job, NOW) for run in runs]


def write(reports, launch, report, **more):
    return reports.write(launch.run.key, report, launch.run.attempt, policy=launch.job.schedule.policy, **more)


def played(script):
    return asyncio.run(asyncio.wait_for(script(), 10))


def test_those_that_come_meanwhile_are_written_together():
    async def script():
        store = Slow()
        launches = await launched(store, 5)
        reports = ReportWriter(store)
        said = [asyncio.ensure_future(write(reports, launches[0], Report.SUCCESS))]
        while not store.batches:
            await asyncio.sleep(0)
        said += [asyncio.ensure_future(write(reports, launch, Report.SUCCESS)) for launch in launches[1:]]
        await asyncio.sleep(0)
        store.gate.set()
        assert await asyncio.gather(*said) == [True] * 5
        assert store.batches == [1, 4]
        assert not await write(reports, launches[0], Report.FAILED)  # it has ended
        return {run.state for run in await store.runs_by_key([launch.run.key for launch in launches])}

    assert played(script) == {State.SUCCESS}


def test_a_launcher_says_of_a_function_that_it_is_over_already():
    """And it counts the functions that have ended without a record."""

    async def script():
        store, (at_once, waits) = Slow(), [asyncio.Event(), asyncio.Event()]
        launches = await launched(store, 3)
        at_once.set()

        async def report(launch, said, error):
            told.append(launch.run.key)
            await waits.wait()

        async def function(launch):
            await (waits if launch is launches[2] else at_once).wait()

        told = []
        launcher = PythonLauncher(lambda name: function, report, lambda: ["it"])
        claimed = [replace(launch, run=launch.run._replace(state=State.LAUNCHING)) for launch in launches[:2]]
        over = LaunchResponse(LaunchResult.OK, over=True)
        assert [await launcher.start(launch) for launch in (*claimed, launches[2])] == [over, over, LaunchResult.OK]
        assert launcher.unrecorded() == 2
        waits.set()
        await launcher.ended()
        assert launcher.unrecorded() == 0
        return told

    assert len(played(script)) == 3


def test_who_is_cancelled_leaves_nobody_waiting():
    async def script():
        store = Slow()
        launches = await launched(store, 3)
        reports = ReportWriter(store)
        first, *others = [asyncio.ensure_future(write(reports, launch, Report.SUCCESS)) for launch in launches]
        for _ in range(3):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        store.gate.set()
        return first, await asyncio.gather(*others), await asyncio.gather(first, return_exceptions=True)

    first, others, _ = played(script)
    assert first.cancelled()
    assert others == [True, True]


def test_who_could_not_be_heard_is_told():
    async def script():
        store = Slow()
        launches = await launched(store, 2)
        store.fails = True
        store.gate.set()
        reports = ReportWriter(store)
        for launch in launches:
            with pytest.raises(OSError, match="disk is full"):
                await write(reports, launch, Report.SUCCESS)
        store.fails = False
        return await write(reports, launches[0], Report.SUCCESS)

    assert played(script)


@pytest.mark.parametrize(
    ("said", "state", "verdict"),
    [
        (LaunchResponse(LaunchResult.OK, report=Report.SUCCESS), State.SUCCESS, Outcome.EXECUTED),
        (LaunchResponse(LaunchResult.OK, report=Report.FAILED), State.FAILED, Outcome.EXECUTED),
        (LaunchResponse(LaunchResult.OK, report=Report.STARTED), State.STARTED, Outcome.EXECUTED),
        (
            LaunchResponse(LaunchResult.RETRYABLE, report=Report.FAILED),
            State.RETRY,
            None,
        ),  # it has it not: so it cannot have run
        (LaunchResponse(LaunchResult.REJECTED, report=Report.SUCCESS), State.FAILED, Outcome.MISSED),
    ],
)
def test_an_answer_may_report_at_once(said, state, verdict):
    async def script():
        world = World("2026-03-01T11:00:00Z", answers=[said])
        await world.define("0 12 * * *", SERVICE)
        world.sleep("2026-03-01T12:00:00Z")
        await world.tick()
        (run,) = await world.store.runs("job", 10)
        assert (run.state, run.outcome, run.attempt) == (state, verdict, 1)

    play(script())


@pytest.mark.parametrize(
    ("attempt", "verdict", "base", "seconds"),
    [
        (1, None, SECOND, 1),
        (5, None, SECOND, 16),
        (30, None, SECOND, 60),
        (5, Outcome.EXECUTED, SECOND, 16),
        (30, Outcome.EXECUTED, SECOND, 30),  # most of those were restarts, and none of them a refusal
        (30, Outcome.EXECUTED, 60 * SECOND, 60),
    ],
)
def test_the_wait_after_a_refusal_doubles_up_to_a_bound(attempt, verdict, base, seconds):
    run = a_run(State.LAUNCHING)._replace(attempt=attempt, outcome=verdict)
    wait = launch_delay(run, replace(SERVICE, launch_backoff=base))
    assert seconds * 750 <= wait <= seconds * 1000  # less some jitter


def test_batch_is_written_within_one_tenant_scope():
    """Row-level security would hide the runs of another tenant, and their reports would be lost."""

    class Scoped(Slow):
        async def update_runs(self, changes, now):
            scopes.append((tenant_scope(), len(changes)))
            return await super().update_runs(changes, now)

    async def within(scope, launch, reports):
        set_tenant_scope(scope)
        return await write(reports, launch, Report.SUCCESS)

    async def script():
        store = Scoped()
        launches = await launched(store, 6)
        reports = ReportWriter(store)
        said = [asyncio.create_task(within(f"{n % 2}/", launch, reports)) for n, launch in enumerate(launches)]
        store.gate.set()
        assert await asyncio.gather(*said) == [True] * 6

    scopes = []
    played(script)
    assert sorted(scopes) == [("0/", 3), ("1/", 3)]


def test_entries_of_a_cancelled_writer_are_written_by_another():
    async def script():
        store = Slow()
        launches = await launched(store, 3)
        reports = ReportWriter(store)
        said = [asyncio.create_task(write(reports, launch, Report.SUCCESS)) for launch in launches[:2]]
        while not store.batches:
            await asyncio.sleep(0)
        (writer,) = reports.writers.values()
        writer.task.cancel()
        said.append(asyncio.create_task(write(reports, launches[2], Report.SUCCESS)))
        await asyncio.sleep(0)
        store.gate.set()
        return await asyncio.gather(*said)

    assert played(script) == [True] * 3


def test_loop_that_ends_during_a_write_leaves_no_task_behind(caplog):
    async def script():
        store = Slow()
        (launch,) = await launched(store, 1)
        waiting = asyncio.create_task(write(ReportWriter(store), launch, Report.SUCCESS))
        while not store.batches:
            await asyncio.sleep(0)
        assert not waiting.done()

    played(script)
    gc.collect()
    assert not caplog.records, "Task was destroyed but it is pending"


def test_unreadable_schedule_fails_only_its_own_report():
    class Broken(Slow):
        async def get(self, identities):
            if "bad" in identities:
                raise UnreadableRecord("CORRUPT_ROW", "the row cannot be read")
            return await super().get(identities)

    async def script():
        store = Broken()
        launches = await launched(store, 5)
        bad = a_case()._replace(job=replace(launches[2].job, identity="bad"), cursor=0)
        await store.commit([ScheduleUpdate(None, bad)], NOW)
        store._put(launches[2].run._replace(identity="bad"))
        store.gate.set()
        reports = ReportWriter(store)
        said = [reports.write(launch.run.key, Report.SUCCESS) for launch in launches]
        return await asyncio.gather(*said, return_exceptions=True)

    answers = played(script)
    assert isinstance(answers.pop(2), UnreadableRecord)
    assert answers == [True] * 4


def test_report_whose_write_was_not_confirmed_is_accepted_and_told_once():
    class Unconfirmed(Slow):
        async def update_runs(self, changes, now):
            written = await super().update_runs(changes, now)
            if len(self.batches) == 1:
                raise ConnectionError("the response is lost")
            return written

    async def script():
        store, heard = Unconfirmed(), Memory()
        (launch,) = await launched(store, 1)
        store.gate.set()
        accepted = await write(ReportWriter(store, heard), launch, Report.SUCCESS, longest=5.0)
        return accepted, [event.name for event in heard.events]

    assert played(script) == (True, ["run_finished"])


def test_report_that_arrives_after_the_stop_is_retried_for_some_seconds():
    async def script():
        store = Slow()
        (launch,) = await launched(store, 1)
        store.gate.set()
        reports = ReportWriter(store)
        reports.stop_retrying(0.5)
        await asyncio.sleep(0.6)
        store.fails = True
        said = asyncio.create_task(write(reports, launch, Report.SUCCESS, longest=60.0))
        await asyncio.sleep(0.1)
        store.fails = False
        return await said

    assert played(script)
