"""A store that a real worker fleet has filled: two weeks of virtual time with every kind of trouble.

The clock stands at 2026-10-22T08:42:17Z, three days before clocks go back in Europe. Nothing is written by hand: the
registrar made the definitions and the actions, and workers made the runs. The same code fills a store in memory and an
SQLite file.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor, Future
from pathlib import Path

from kron.engine.clock import ManualClock
from kron.engine.registrar import Actor, Registrar
from kron.engine.settings import Settings
from kron.engine.store import Store
from kron.engine.worker import Worker
from kron.stores.memory import MemoryStore
from kron.stores.sqlite import SqliteStore
from kron.testing import VirtualClock, VirtualLoop, VirtualTimer
from kron.timing.zone import instant_of
from tests.dashboard.seeded_schedules import DAILY, FREQUENT, Row, job_of
from tests.dashboard.seeded_target import SeededTarget

NOW = instant_of("2026-10-22T08:42:17Z")
START = instant_of("2026-10-08T06:00:00Z")
FREQUENT_START = instant_of("2026-10-20T20:40:00Z")  # 36 hours before the end
OUTAGE = instant_of("2026-10-22T06:39:30Z"), instant_of("2026-10-22T06:54:30Z")  # no worker runs
HOST_WORKER_LOST = instant_of("2026-10-22T08:39:51Z")  # no other worker can launch host commands
PAST = Settings(tick=1_800_000, shard_lease=5_400_000)  # few passes: they are most of the time that seeding takes
PRESENT = Settings(tick=60_000, shard_lease=180_000)
WORKERS = ("kron-0.eu-1", "kron-1.eu-1", "kron-2.eu-1")
HOST_WORKER = "kron-host.eu-1"

ANA, BEN, MIA, CI = "ana.lopez", "ben.okafor", "mia.chen", "ci@acme"


class Seeding:
    """Fills one store in virtual time."""

    def __init__(self, loop: VirtualLoop, store: Store, clock: VirtualClock) -> None:
        self.loop, self.store, self.clock = loop, store, clock
        self.registrar, self.timer = Registrar(store), VirtualTimer(loop)
        self.target = SeededTarget(loop, clock, self.registrar)
        self.stops: dict[str, tuple[asyncio.Event, asyncio.Task[None]]] = {}

    async def play(self) -> None:
        """Play the two weeks."""
        await self._define(DAILY, Actor(CI, "deploy 2026-10-08.1"))
        self._start(WORKERS[0], "https", PAST)
        await self._past_weeks()
        await self._until(FREQUENT_START)
        await self._define(FREQUENT, Actor(CI, "deploy 2026-10-20.3"))
        self._start(HOST_WORKER, "command", PAST)
        await self._last_day()
        await self._until(OUTAGE[0])
        for name in (WORKERS[0], HOST_WORKER):
            await self._stop(name)
        await self._until(OUTAGE[1])
        for name in WORKERS:
            self._start(name, "https", PRESENT)
        self._start(HOST_WORKER, "command", PRESENT)
        await self._last_hours()

    async def _past_weeks(self) -> None:
        await self._until(instant_of("2026-10-13T14:02:11Z"))
        text = "30 2 * * * @win(after,2h) @dist(skewEarly)"
        await self._edit("billing.invoices", text, Actor(ANA, "the ERP is slow at night: 2 hours"))
        await self._until(instant_of("2026-10-19T16:05:40Z"))
        until = instant_of("2026-10-27T08:00:00Z") * 1000
        await self.registrar.pause("mail.newsletter", Actor(BEN, "template is broken"), until=until)

    async def _last_day(self) -> None:
        await self._until(instant_of("2026-10-21T09:12:00Z"))
        await self.registrar.pause("crm.import-legacy", Actor(ANA, "vendor maintenance"))
        await self._until(instant_of("2026-10-21T13:30:25Z"))
        await self.registrar.resume("crm.import-legacy", Actor(ANA, "vendor is back"))
        await self._until(instant_of("2026-10-21T15:10:00Z"))
        await self.registrar.delete("legacy.ping", Actor(ANA, "sla.probe replaces it"))
        await self.registrar.pause("mail.digest", until=instant_of("2026-10-21T16:00:00Z") * 1000)

    async def _last_hours(self) -> None:
        await self._until(instant_of("2026-10-22T08:35:16Z"))
        await self._edit("search.suggestions", "*/10 * * * *", Actor(BEN, "every 10 minutes is enough"))
        await self._until(instant_of("2026-10-22T08:38:15Z"))
        await self.registrar.trigger("reports.board", "board asked for a fresh copy")
        await self._until(HOST_WORKER_LOST)
        self.stops.pop(HOST_WORKER)[1].cancel()  # crashes: it does not leave the fleet, so its lease runs out
        await self._until(NOW)

    async def _define(self, rows: tuple[Row, ...], actor: Actor) -> None:
        await self.registrar.upsert_all([(job_of(row), actor) for row in rows])

    async def _edit(self, name: str, text: str, actor: Actor) -> None:
        (row,) = [row for row in (*DAILY, *FREQUENT) if row.name == name]
        await self.registrar.upsert(job_of(row._replace(text=text)), actor)

    def _start(self, name: str, scheme: str, settings: Settings) -> None:
        """Start a worker. Its name has the hours since the start, because a name is never used twice."""
        owner, stop = f"{name}-{self.loop.time() // 3600:.0f}", asyncio.Event()
        worker = Worker(self.store, {scheme: self.target}, self.timer, owner=owner, settings=settings)
        self.stops[name] = stop, self.loop.create_task(worker.run(stop))

    async def _stop(self, name: str) -> None:
        stop, task = self.stops.pop(name)
        stop.set()
        await task

    async def _until(self, instant: int) -> None:
        await asyncio.sleep(instant - self.clock.now())


class _Inline(Executor):
    """Executor that does its work at once: virtual time does not wait for threads."""

    def submit(self, work, /, *given, **named):
        future = Future()
        try:
            future.set_result(work(*given, **named))
        except BaseException as error:
            future.set_exception(error)
        return future


def seeded_memory() -> MemoryStore:
    """Return a filled store in memory, whose clock stands still."""
    store = _seed(MemoryStore)
    store.clock = ManualClock(NOW)
    return store


def seeded_sqlite(path: Path) -> SqliteStore:
    """Fill an SQLite file, and return a store whose clock stands still."""

    def store_of(clock: VirtualClock) -> SqliteStore:
        store = SqliteStore(path, clock)
        store.file.thread.shutdown()
        store.file.thread = _Inline()
        store.file.connection.execute("PRAGMA synchronous = OFF")  # a lost file is filled again
        return store

    _seed(store_of).file.connection.close()
    return SqliteStore(path, ManualClock(NOW))


def _seed(store_of):
    loop = VirtualLoop()
    try:
        clock = VirtualClock(loop, START)
        store = store_of(clock)
        loop.run_until_complete(Seeding(loop, store, clock).play())
    finally:
        loop.abandon()
    return store
