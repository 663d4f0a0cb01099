"""Pages show the same on every store: in memory, in a file and in PostgreSQL."""

import asyncio
import re

import uvicorn

from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.launcher import Launch
from kron.engine.registrar import Actor, Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.language import parse
from kron.language.source import source_of
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.stores.memory import MemoryStore
from kron.stores.postgres import PostgresStore
from kron.stores.sqlite import SqliteStore
from kron.timing.job import Job
from kron.timing.labels import labels_of
from kron.timing.schedule.policy import SERVICE
from tests.dashboard.addresses import QUERIES
from tests.dashboard.parsed import parsed
from tests.dashboard.seeded import NOW
from tests.dashboard.served import Site, ask, dashboard_of, served

PATHS = ("/", "/schedules", "/runs", "/activity")
ADDRESSES = [*PATHS, *(f"{path}?{query}" for path in PATHS for query in QUERIES.get(path, ()))]


def text_of(reply):
    """Return what a page says, without the time that its store took."""
    return re.sub(r"answers in \d+ ms", "", parsed(reply).text)


def test_pages_of_a_file_say_what_those_of_memory_say(site, seeded_file):
    with served(dashboard_of(seeded_file)) as other:
        other.cookies["kron_zone"] = "Europe/Paris"
        for address in ADDRESSES:
            assert text_of(other.get(address)) == text_of(site.get(address)), address


class Target:
    """A target that accepts, fails or rejects runs, by the name of the schedule."""

    def __init__(self, clock):
        self.clock = clock

    async def start(self, launch: Launch) -> LaunchResponse:
        number = int(launch.run.identity.partition(".")[2])
        if number % 5 == 0:
            return LaunchResponse(LaunchResult.REJECTED, code=422, excerpt="no such account")
        if number % 5 == 1:
            return LaunchResponse(LaunchResult.OK, report=Report.FAILED, code=3, excerpt="exit status 3")
        return LaunchResponse(LaunchResult.OK, report=Report.STARTED if number % 5 == 2 else Report.SUCCESS)

    async def cancel(self, run):
        return None


async def fill(store, clock):
    """Define 30 schedules, pause and edit one each, and let a worker run for 20 minutes."""
    registrar = Registrar(store)

    def job(number, text):
        schedule = parse(text, dialect="kron", timezone="Europe/Paris", policy=SERVICE)
        labels, target = labels_of({"team": "crm" if number % 2 else "web"}), f"https://host-{number % 3}.example/x"
        return Job(f"s.{number:02d}", schedule, target=target, source=source_of(text, "kron", schedule), labels=labels)

    await registrar.upsert_all([(job(n, f"*/{3 + n % 4} * * * *"), Actor("ci", "first")) for n in range(30)])
    worker = Worker(
        store, {"https": Target(clock)}, SystemTimer(), owner="only", settings=Settings(shard_lease=86_400_000)
    )
    for minute in range(20):
        clock.advance(60)
        if minute == 5:
            await registrar.upsert(job(3, "*/7 * * * *"), Actor("ana.lopez", "less often"))
            await registrar.pause("s.04", Actor("ana.lopez", "why not"), until=(NOW + 86_400) * 1000)
        for _ in range(3):
            await worker.tick()
    clock.time = float(NOW)


async def pages_of(make_store):
    """Return what all list pages of a store say. It and the server live on one event loop."""
    clock = ManualClock(NOW - 1_217)
    store = make_store(clock)
    await fill(store, clock)
    settings = uvicorn.Config(dashboard_of(store), port=0, log_level="error", ws="none", lifespan="off")
    server = uvicorn.Server(settings)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    site = Site(server.servers[0].sockets[0].getsockname()[1], {"kron_zone": "Europe/Paris"})
    pages = {address: text_of(await asyncio.to_thread(site.get, address)) for address in ADDRESSES}
    server.should_exit = True
    await task
    if hasattr(store, "close"):
        await store.close()
    return pages


def test_pages_are_the_same_on_every_store(database, tmp_path):
    memory = ask(pages_of(MemoryStore))
    assert "s.00" in memory["/runs?dead=1"]
    assert "s.01" in memory["/runs?outcome=failed"]
    assert "s.04" in memory["/schedules?state=paused"]
    assert "s.03 changed to revision 2" in memory["/activity?kind=changed"]
    assert "—" not in memory["/"]
    for make_store in (
        lambda clock: SqliteStore(tmp_path / "kron.db", clock),
        lambda clock: PostgresStore(database, clock),
    ):
        pages = ask(pages_of(make_store))
        for address in ADDRESSES:
            assert pages[address] == memory[address], address
