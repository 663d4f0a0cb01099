"""Shape: whether the seeded rows have the form of rows that the engine itself writes.

A registrar defines some schedules in another database of the same server, and a worker runs them for a few seconds. A
form that both databases have a class of rows for must be the same.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from tests.postgres import Server, connect

from benchmarks.ui.schedules import POLICY, TARGET, label_set
from kron import parse
from kron.engine.clock import SystemTimer
from kron.engine.launcher import Launch
from kron.engine.registrar import Actor, Registrar
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.stores.postgres import PostgresStore
from kron.stores.statements import named
from kron.timing.job import Job

SQL = named(Path(__file__).with_name("shape.sql").read_text(encoding="utf-8"))
SECONDS = 3.0
SAMPLE = 20_000  # schedules whose rows are compared, about
NAMES = ("success", "failed", "dead", "retry", "running", "paused", "deleted", "unknown")
Forms = dict[tuple[str, str], set[str]]


class Target:
    """Launcher and target that fails in the ways that are seeded."""

    def __init__(self, registrar: Registrar) -> None:
        self.registrar, self.tasks = registrar, list[asyncio.Task[bool]]()

    async def start(self, launch: Launch) -> LaunchResponse:
        """Answer as the name of the schedule says."""
        name, run = launch.job.identity.partition("/")[2], launch.run
        if name == "dead":
            return LaunchResponse(LaunchResult.REJECTED, code=404, excerpt="no such hook")
        if name == "unknown":
            return LaunchResponse(LaunchResult.UNKNOWN, excerpt="connection reset")
        if name == "retry" and run.attempt == 1:
            return LaunchResponse(LaunchResult.RETRYABLE, 1, code=503, excerpt="upstream connect error")
        if name != "running":
            self.tasks.append(asyncio.create_task(self._end(run, is_failed=name == "failed")))
        return LaunchResponse(LaunchResult.OK, report=Report.STARTED)

    async def cancel(self, run: Run) -> None:
        """Do nothing."""

    async def _end(self, run: Run, *, is_failed: bool) -> bool:
        await asyncio.sleep(0.1)
        report, error = (Report.FAILED, "ValueError") if is_failed else (Report.SUCCESS, "")
        return await self.registrar.report(run.key, report, run.attempt, error=error)


async def write_sample(url: str) -> None:
    """Let the engine write some schedules and runs."""
    set_tenant_scope(ALL_TENANTS)
    store = PostgresStore(url)
    registrar, stop = Registrar(store), asyncio.Event()
    schedule = replace(parse("* * * * * *", dialect="service"), policy=POLICY)
    jobs = [Job(f"t/{name}", schedule, target=TARGET, labels=label_set(1)) for name in NAMES]
    await registrar.upsert_all([(job, Actor("deploy", "release 1")) for job in jobs])
    await registrar.upsert(replace(jobs[0], description="edited"), Actor("deploy", "release 2"))
    target = Target(registrar)
    worker = Worker(store, {"https": target}, SystemTimer(), owner="host/0000000000000001")
    working = asyncio.create_task(worker.run(stop))
    await asyncio.sleep(SECONDS)
    await registrar.pause("t/paused", Actor("ana.lopez", "vendor maintenance"))
    await registrar.delete("t/deleted", Actor("ana.lopez", "replaced"))
    await asyncio.sleep(1)
    stop.set()
    await working
    await asyncio.gather(*target.tasks, return_exceptions=True)
    await store.close()


def forms_of(url: str, part: int) -> Forms:
    """Return the forms of the rows of a database, by table and class."""
    forms: Forms = defaultdict(set)
    with connect(url, autocommit=True) as connection:
        for table, query in SQL.items():
            values = {"part": part} if "%(part)s" in query else None
            for kind, form in connection.execute(query.encode(), values).fetchall():
                forms[table, kind].add(str(form))
    return forms


def differing_forms(server: Server, database: str, schedules: int) -> tuple[int, list[str]]:
    """Return how many classes of rows were compared, and those that differ."""
    sample = server.database()
    asyncio.run(write_sample(server.url(sample)))
    written, seeded = forms_of(server.url(sample), 1), forms_of(server.url(database), max(1, schedules // SAMPLE))
    server.drop(sample)
    common = sorted(written.keys() & seeded.keys())
    return len(common), [
        f"{table} {kind}: seeded {sorted(seeded[table, kind])}, written {sorted(written[table, kind])}"
        for table, kind in common
        if written[table, kind] != seeded[table, kind]
    ]
