"""A dry run of the operator: it records when Jobs would be created, and a report compares this with CronJobs."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from kron.apps.cli import main
from kron.apps.operator.dry_run import DryRun
from kron.apps.operator.options import OperatorOptions
from kron.apps.operator.shadow.cronjob_runs import period_of, runs_of
from kron.apps.operator.store_kind import check_kind
from kron.engine.clock import ManualClock
from kron.engine.events import Memory
from kron.errors import InvalidSetting
from kron.rules.outcome import Outcome, Reason
from kron.stores.sqlite import SqliteStore
from kron.timing.zone import rfc3339
from tests.kube.conftest import connected
from tests.kube.test_config import in_file, kubeconfig
from tests.operator.running import START, World, defaults, until
from tests.operator.test_import import cronjob

MINUTE = 60


class DryWorld(World):
    """A cluster, a store and a clock with a dry run."""

    @asynccontextmanager
    async def running(self):
        async with connected(self.server.url) as api:
            store = SqliteStore(str(self.file), self.clock)
            dry_run = DryRun(api, store, self.options, Memory(), clock=self.clock)
            task = asyncio.ensure_future(dry_run.run(asyncio.Event()))
            try:
                await until(lambda: dry_run.started.is_set() or task.done())
                yield dry_run
            finally:
                task.cancel()
                await asyncio.wait({task})
                await store.close()

    def record(self, minutes):
        """Let the clock go on, minute by minute, and let the dry run record each period."""

        async def main():
            async with self.running() as dry_run:
                await until(lambda: self.server.count("WATCH", "/kronjobs"))
                for number in range(minutes):
                    self.clock.advance(MINUTE)
                    dry_run.worker.notify()
                    await self._recorded(dry_run.store, number + 1)

        asyncio.run(main())

    async def _recorded(self, store, count):
        async with asyncio.timeout(60):
            while len([run for run in await store.runs("shop/report", 100) if not run.open]) < count:
                await asyncio.sleep(0.01)

    def runs(self):
        async def main():
            store = SqliteStore(str(self.file), self.clock)
            try:
                return await store.runs("shop/report", 100)
            finally:
                await store.close()

        return asyncio.run(main())


@pytest.fixture
def dry_world(server, tmp_path):
    return DryWorld(server, tmp_path, **defaults(90))


def test_dry_run_records_and_only_reads_kronjobs(dry_world):
    dry_world.kronjob()
    dry_world.record(2)
    runs = dry_world.runs()
    assert [(run.nominal, run.outcome, run.reason) for run in runs] == [
        (START + 2 * MINUTE, Outcome.SKIPPED, Reason.SHADOW),
        (START + MINUTE, Outcome.SKIPPED, Reason.SHADOW),
    ]
    assert dry_world.calls() == {("kronjobs", "list"), ("kronjobs", "watch")}
    assert dry_world.jobs == {}


@pytest.mark.parametrize("deleted", [False, True])
def test_store_of_a_dry_run_is_of_no_use_to_an_operator(dry_world, deleted):
    dry_world.kronjob()
    dry_world.record(1)
    url = f"sqlite:{dry_world.file}"

    async def check(dry_run):
        store = SqliteStore(str(dry_world.file), ManualClock(START))
        try:
            await check_kind(store, url, "", dry_run=dry_run)
        finally:
            await store.close()

    if deleted:
        dry_world.server.remove("kronjobs", "shop", "report")

        async def start():
            async with dry_world.running():
                pass

        asyncio.run(start())
    asyncio.run(check(dry_run=True))
    with pytest.raises(InvalidSetting, match="which creates nothing"):
        asyncio.run(check(dry_run=False))


def test_store_of_an_operator_is_of_no_use_to_a_dry_run(world):
    world.kronjob()
    world.run(lambda life: life.defined())

    async def check():
        store = SqliteStore(str(world.file), ManualClock(START))
        try:
            await check_kind(store, f"sqlite:{world.file}", "", dry_run=False)
            await check_kind(store, f"sqlite:{world.file}", "", dry_run=True)
        finally:
            await store.close()

    with pytest.raises(InvalidSetting, match="an operator that creates Jobs"):
        asyncio.run(check())


def put_cronjob(world, **status):
    body = cronjob(schedule="* * * * *", successfulJobsHistoryLimit=10)
    body["status"] = status
    world.server.put("cronjobs", "shop", "report", body, uid="c-1", creationTimestamp=rfc3339(START - 600))


def put_job(world, period, *, late=1, end="Complete", uid="c-1"):
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "report", "uid": uid, "controller": True}
    metadata = {"ownerReferences": [owner], "creationTimestamp": rfc3339(period + late)}
    conditions = [{"type": end, "status": "True"}]
    name = f"report-{period // MINUTE}"
    world.server.put("jobs", "shop", name, {"metadata": metadata, "status": {"conditions": conditions}})


def reported(world, tmp_path, monkeypatch, capsys, *words):
    in_file(tmp_path, monkeypatch, kubeconfig(world.server.url))
    at = rfc3339(int(world.clock.now()) + 2 * MINUTE)
    status = main(["import", "cronjobs", "--shadow", f"sqlite:{world.file}", "-n", "shop", "--at", at, *words])
    return status, capsys.readouterr()


def test_report_compares_jobs_with_the_records(dry_world, tmp_path, monkeypatch, capsys):
    """The CronJob has no Job for minute 2, and the dry run has no record of minute 5, which is compared later."""
    dry_world.kronjob()
    dry_world.record(3)
    put_cronjob(dry_world, lastScheduleTime=rfc3339(START + 5 * MINUTE))
    for number, late in ((1, 2), (3, 4), (5, 1)):
        put_job(dry_world, START + number * MINUTE, late=late)
    put_job(dry_world, START + 2 * MINUTE, uid="another")
    status, captured = reported(dry_world, tmp_path, monkeypatch, capsys, "-o", "json")
    assert status == 1
    (record,) = json.loads(captured.out)
    assert [each["period"] for each in record["both"]] == ["2026-03-01T10:01:00Z", "2026-03-01T10:03:00Z"]
    assert [each["cronjob_late_ms"] for each in record["both"]] == [2_000, 4_000]
    assert [(each["period"], each["only"]) for each in record["differences"]] == [
        ("2026-03-01T10:02:00Z", "KronJob"),
    ]
    status, captured = reported(dry_world, tmp_path, monkeypatch, capsys)
    assert "shop/report" in captured.out
    assert "The CronJob has started no Job for this time." in captured.out


def test_report_of_equal_runs_has_no_difference(dry_world, tmp_path, monkeypatch, capsys):
    dry_world.kronjob()
    dry_world.record(2)
    put_cronjob(dry_world, lastScheduleTime=rfc3339(START + 2 * MINUTE))
    put_job(dry_world, START + MINUTE)  # the last one is told by the status alone
    status, captured = reported(dry_world, tmp_path, monkeypatch, capsys)
    assert status == 0, captured.out
    assert captured.out.splitlines()[1].split()[2:5] == ["2", "0", "0"]


def test_cronjob_that_the_dry_run_does_not_know_is_told(dry_world, tmp_path, monkeypatch, capsys):
    dry_world.kronjob("other")
    asyncio.run(start_once(dry_world))
    put_cronjob(dry_world)
    status, captured = reported(dry_world, tmp_path, monkeypatch, capsys)
    assert (status, "the dry run has no KronJob of this name" in captured.err) == (1, True)


async def start_once(world):
    async with world.running():
        pass


def test_runs_are_known_from_the_oldest_job_that_the_limits_keep():
    made = {"ownerReferences": [{"kind": "CronJob", "uid": "c"}], "creationTimestamp": rfc3339(START)}
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    jobs = [{"metadata": {**made, "name": f"r-{START // 60 + n}"}, "status": done} for n in (5, 6, 7)]
    failed = {"metadata": {**made, "name": f"r-{START // 60 + 1}"}, "status": {}}
    body = {"metadata": {"uid": "c", "creationTimestamp": rfc3339(START)}, "spec": {"failedJobsHistoryLimit": 9}}
    assert runs_of(body, [*jobs, failed]).began == START + 5 * MINUTE
    assert (
        runs_of({**body, "spec": {"successfulJobsHistoryLimit": 9, "failedJobsHistoryLimit": 9}}, jobs).began == START
    )
    last = {"lastScheduleTime": rfc3339(START + 9 * MINUTE)}
    none_kept = {**body, "spec": {"successfulJobsHistoryLimit": 0}, "status": last}
    assert runs_of(none_kept, []) == (START + 9 * MINUTE, {START + 9 * MINUTE: None})
    assert period_of({"metadata": {"name": "by-hand"}}) == 0


def test_probes_of_a_dry_run_are_refused(capsys):
    status = main(["operator", "run", "--dry-run", "--listen", ":8080", "--store", "memory:"])
    assert (status, "a dry run answers no probes" in capsys.readouterr().err) == (2, True)
    assert OperatorOptions("memory:").dry_run is False
