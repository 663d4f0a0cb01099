"""The parts of the service: a registrar, a worker that only keeps time, and a launcher that may be anything."""

import ast
import asyncio
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from kron import KronError, parse
from kron.engine.clock import ManualClock
from kron.engine.fleet import SHARDS, shard_of
from kron.engine.registrar import Registrar
from kron.engine.worker import Worker
from kron.launchers.python import PythonLauncher
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE, Overlap
from kron.timing.zone import instant_of
from tests.engine.world import FOLLOWED, Still, World, play

NOON = instant_of("2026-03-01T12:00:00Z")


def imported(module):
    """Every module of Kron that a module imports, itself or through others."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name in seen or (spec := find_spec(name)) is None:
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kron"):
                waiting += [node.module]
            elif isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names if alias.name.startswith("kron")]
    return seen


@pytest.mark.req("SVC-PURPOSE")
def test_the_worker_knows_no_launcher_no_store_and_nothing_that_runs():
    known = imported("kron.engine.worker")
    assert "kron.engine.launcher" in known  # the promise
    assert not [name for name in known if name.startswith(("kron.launchers", "kron.stores", "kron.apps"))]
    assert not known & {"subprocess", "http", "socket"}


@pytest.mark.req("SVC-GOAL-REGISTER", "SVC-ARCH-REGISTRAR", "SVC-DM-PAUSED")
def test_a_schedule_is_registered_modified_paused_and_deleted():
    async def script():
        world = World("2026-03-01T11:50:00Z", duration=1)
        case = await world.define("*/15 * * * *", SERVICE, dialect="service")
        assert (case.revision, case.paused, case.deleted) == (1, False, False)
        case = await world.define("*/20 * * * *", SERVICE, dialect="service")
        assert case.revision == 2
        await world.run("2026-03-01T12:25:00Z")
        assert [launch.run.nominal for launch in world.target.starts] == [NOON, NOON + 1200]
        assert (await world.registrar.pause("job")).paused
        case = await world.define("*/10 * * * *", SERVICE, dialect="service")
        assert case.paused  # to modify is not to resume
        await world.run("2026-03-01T13:05:00Z")
        assert len(world.target.starts) == 2
        assert not (await world.registrar.resume("job")).paused
        await world.run("2026-03-01T13:10:00Z")
        assert len(world.target.starts) == 3
        assert (await world.registrar.delete("job")).deleted
        with pytest.raises(KronError, match=r"schedule .* does not exist"):
            await world.registrar.get("job")

    play(script())


@pytest.mark.req("SVC-DM-CRON", "SVC-DM-TZ", "SVC-SEC-VALIDATE")
def test_five_or_six_fields_in_a_zone_of_the_tz_database_and_nothing_else():
    assert parse("0 12 * * *", dialect="service", timezone="America/New_York")
    assert parse("30 0 12 * * *", dialect="service", timezone="America/New_York")
    bad_fields = ["0 12 * *", "0 0 12 * * * 2026", "", "61 * * * *", "0 12 * * * ; rm -rf /", "@daily"]
    for text in bad_fields:
        with pytest.raises(KronError):
            parse(text, dialect="service", timezone="UTC")
    for zone in ("Mars/Olympus", "../../etc/passwd", "/etc/localtime", "", "UTC\0", "EST5EDT4,M3.2.0"):
        with pytest.raises(KronError):
            parse("0 12 * * *", dialect="service", timezone=zone)


@pytest.mark.req("SVC-DEPLOY-SINGLE")
def test_one_worker_alone_looks_at_everything_at_once():
    async def script():
        world = World("2026-03-01T11:59:00Z", duration=1)
        names = [f"s{n}" for n in range(200)]
        for name in names:
            await world.define("0 12 * * *", SERVICE, identity=name)
        await world.run("2026-03-01T12:00:00Z")
        assert sorted(launch.run.identity for launch in world.target.starts) == sorted(names)

    play(script())


@pytest.mark.req("SVC-DEPLOY-SHARD")
def test_schedules_are_sharded_by_hash_over_several_workers():
    async def script():
        world = World("2026-03-01T11:59:55Z", duration=1)
        names = [f"s{n}" for n in range(300)]
        for name in names:
            await world.define("* * * * *", SERVICE, identity=name)
        workers = [Worker(world.store, {"test": world.target}, Still(), owner=f"w{n}") for n in range(3)]
        for _ in range(3):  # they come to know one another
            for worker in workers:
                await worker.tick()
        world.sleep("2026-03-01T12:00:00Z")
        for worker in workers:
            await worker.tick()
        by = {launch.run.identity: launch.run.owner for launch in world.target.starts}
        assert sorted(by) == sorted(names)  # each by one of them
        assert len(world.target.starts) == len(names)
        assert set(by.values()) == {"w0", "w1", "w2"}
        shards = {shard_of(name): owner for name, owner in by.items()}
        assert all(shards[shard_of(name)] == owner for name, owner in by.items())  # and shard by shard
        assert len(shards) <= SHARDS

    play(script())


class Published:
    """A launcher that only puts what it is given into a queue."""

    def __init__(self):
        self.queue = asyncio.Queue()

    async def start(self, launch):
        await self.queue.put(launch)
        return LaunchResult.OK

    async def cancel(self, run):
        pass


@pytest.mark.req("SVC-DEPLOY-QUEUE", "SVC-NOTE-QUEUE")
def test_a_queue_may_stand_between_the_worker_and_what_runs():
    """The worker publishes, somebody else consumes and reports; policies, keys and states are the same."""

    async def script():
        clock = ManualClock(NOON - 60)
        store, launcher = MemoryStore(clock), Published()
        registrar = Registrar(store)
        worker = Worker(store, {"queue": launcher}, Still(), owner="w1")
        schedule = replace(parse("* * * * *", dialect="service"), policy=replace(FOLLOWED, overlap=Overlap.QUEUE))
        await registrar.upsert(Job("job", schedule, target="queue:runs"))
        for minute in range(3):
            clock.time = float(NOON + 60 * minute)
            await worker.tick()
        assert launcher.queue.qsize() == 1  # the others wait for it to finish
        taken = []
        for _ in range(3):
            taken.append(await launcher.queue.get())
            assert await registrar.report(taken[-1].run.key, Report.STARTED)
            assert await registrar.report(taken[-1].run.key, Report.SUCCESS)
            await worker.tick()
        assert [launch.run.nominal for launch in taken] == [NOON, NOON + 60, NOON + 120]
        assert [run.state for run in await store.runs("job", 9)] == [State.SUCCESS] * 3

    play(script())


@pytest.mark.req("SVC-NOTE-SAMEPROC")
@pytest.mark.parametrize(("turns", "writes"), [(0, 1), (1, 2)], ids=["over at once", "after a while"])
def test_the_worker_and_what_runs_may_share_a_process(turns, writes):
    """A function that is over at once is recorded once, with its end; else its start is written, too."""

    class Counted(MemoryStore):
        changes = 0

        async def update_runs(self, changes, now):
            self.changes += len(changes)
            return await super().update_runs(changes, now)

    async def script():
        clock = ManualClock(NOON - 60)
        store = Counted(clock)
        registrar, ran = Registrar(store), []

        async def report(launch, report, error):
            await registrar.report(launch.run.key, report, launch.run.attempt)

        async def it(launch):
            for _ in range(10 * turns):
                await asyncio.sleep(0)
            ran.append(launch.run.nominal)

        launcher = PythonLauncher({"it": it}.get, report, lambda: ["it"])
        worker = Worker(store, {"python": launcher}, Still(), owner="w1")
        schedule = replace(parse("0 12 * * *", dialect="service"), policy=FOLLOWED)
        await registrar.upsert(Job("job", schedule, target="python:it"))
        clock.time = float(NOON)
        await worker.tick()
        while launcher.tasks:
            await asyncio.gather(*launcher.tasks.values())
        (run,) = await store.runs("job", 1)
        assert (ran, run.state) == ([NOON], State.SUCCESS)
        assert store.changes == writes

    play(script())
