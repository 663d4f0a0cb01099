"""A worker on a PostgreSQL under faults of the server: it goes on by itself, and each period has its one record."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import pytest

from kron import parse
from kron.engine.clock import SystemTimer
from kron.engine.events import Memory
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult
from kron.rules.run_state import State
from kron.stores.postgres import PostgresStore
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE, Catchup, Overlap
from tests.postgres import connect, running

pytestmark = pytest.mark.slow

POLICY = replace(SERVICE, overlap=Overlap.ALLOW, catchup=Catchup.ALL)
FAULT_S = 3.0
CALM_S = 12.0  # seconds within which everything that was due during the fault is done


@pytest.fixture(scope="module")
def own_server():
    with running({"fsync": "off", "max_connections": "20"}) as server:
        yield server


class Target:
    """Remembers what it was sent."""

    def __init__(self):
        self.keys = Counter()

    async def start(self, launch):
        self.keys[launch.run.key] += 1
        return LaunchResult.OK

    async def cancel(self, run):
        """There is nothing to cancel."""


@asynccontextmanager
async def at_work(url, count):
    """A worker that runs so many schedules every second."""
    store, target, events, stop = PostgresStore(url), Target(), Memory(), asyncio.Event()
    text = replace(parse("* * * * * *", dialect="service"), policy=POLICY)
    for n in range(count):
        await Registrar(store).upsert(Job(f"s{n}", text, target="test:"))
    worker = Worker(store, {"test": target}, SystemTimer(), owner="w1", settings=Settings(), sink=events)
    task = asyncio.ensure_future(worker.run(stop))
    try:
        await asyncio.sleep(2)
        yield store, target, events
    finally:
        stop.set()
        await task
        await store.close()


async def survived(url, fault, count=5):
    """The events of a worker that has gone through a fault, after everything that was due in it is done."""
    async with at_work(url, count) as (store, target, events):
        with fault:
            await asyncio.sleep(FAULT_S)
        last = await store.now() // 1000
        async with asyncio.timeout(CALM_S):
            while any(
                case.cursor <= last or case.open_runs for case in await store.get([f"s{n}" for n in range(count)])
            ):
                await asyncio.sleep(0.1)
        found = [await store.runs(f"s{n}", 1_000) for n in range(count)]
    for runs in found:
        runs = [run for run in runs if run.nominal <= last]
        times = sorted(run.nominal for run in runs)
        assert times == list(range(times[0], times[-1] + 1))
        assert {run.state for run in runs} == {State.SUCCESS}
        assert all(target.keys[run.key] >= 1 for run in runs)
    return events


@contextmanager
def locked(url, table):
    with connect(url) as other:
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
        other.rollback()


@contextmanager
def read_only(server):
    """As after a failover, before the new server takes writes."""
    server.sql("ALTER SYSTEM SET default_transaction_read_only = on")
    server.sql("SELECT pg_reload_conf()")
    yield
    with connect(server.url(), autocommit=True) as other:
        other.execute("SET default_transaction_read_only = off")
        other.execute("ALTER SYSTEM RESET default_transaction_read_only")
        other.execute("SELECT pg_reload_conf()")


@contextmanager
def crowded(server, url):
    """Others have taken every connection, and the worker has lost its own."""
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kron'")
    others = []
    for _ in range(30):
        try:
            others.append(connect(url, connect_timeout=3))
        except Exception:
            break
    yield
    for other in others:
        other.close()


@contextmanager
def slow(url):
    """Each row of what is due takes so long to be written that a whole batch takes longer than a statement may."""
    with connect(url, autocommit=True) as other:
        other.execute("""CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS
                         $$ BEGIN PERFORM pg_sleep(0.05); RETURN new; END $$""")
        other.execute("CREATE TRIGGER slow BEFORE UPDATE ON schedule_state FOR EACH ROW EXECUTE FUNCTION public.slow()")
        yield
        other.execute("DROP TRIGGER slow ON schedule_state")


@contextmanager
def without_partitions(url):
    with connect(url, autocommit=True) as other:
        for (name,) in other.execute("SELECT name FROM kron_partitions").fetchall():
            other.execute(f"DROP TABLE {name}")
        yield


@pytest.mark.parametrize("table", ["schedule_state", "runs", "workers"])
def test_it_goes_on_after_a_table_was_locked(own_server, table):
    url = own_server.url(own_server.database())
    asyncio.run(survived(url, locked(url, table)))


def test_it_goes_on_after_the_server_took_no_writes(own_server):
    events = asyncio.run(survived(own_server.url(own_server.database()), read_only(own_server)))
    assert any("read-only" in event.facts["error"] for event in events.named("pass_failed"))


def test_it_goes_on_after_all_connections_were_taken(own_server):
    url = own_server.url(own_server.database())
    events = asyncio.run(survived(url, crowded(own_server, url)))
    assert any("too many clients" in event.facts["error"] for event in events.named("pass_failed"))


def test_a_slow_database_is_given_less_at_once(own_server):
    """90 rows take 4.5 s, and a statement may take 4: a worker that tried the same again would get nowhere."""
    url = own_server.url(own_server.database())

    async def script():
        async with at_work(url, 90) as (_, target, events):
            with slow(url):
                async with asyncio.timeout(CALM_S):
                    while not events.named("pass_failed"):
                        await asyncio.sleep(0.1)
                async with asyncio.timeout(CALM_S - 4):  # the pass that failed took 4 s
                    before = sum(target.keys.values())
                    while sum(target.keys.values()) == before:
                        await asyncio.sleep(0.1)

    asyncio.run(script())


def test_without_a_partition_of_the_week_nothing_waits(own_server):
    url = own_server.url(own_server.database())
    events = asyncio.run(survived(url, without_partitions(url)))
    assert not events.named("pass_failed")
