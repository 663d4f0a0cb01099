"""A year of daily schedules without faults: how long it takes, and what stands in the ledger at its end."""

from __future__ import annotations

import asyncio
import time
from hashlib import sha256

from kron.engine.launcher import Launch
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.language import parse
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.run import Run
from kron.stores.memory import MemoryStore
from kron.testing import VirtualClock, VirtualLoop, VirtualTimer
from kron.timing.job import Job
from tests.simulation.campaign import each

START = 1_767_225_600  # 2026-01-01T00:00:00Z
DAYS = 365
PARTS = 2  # clusters that know nothing of one another: nothing crosses cells
WINDOW_EVERY = 20  # schedules, of which one has a window
LIMIT = 300.0  # seconds


class Ledger(MemoryStore):
    """A store that forgets what has ended, once it stands in the digest."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.sum, self.ended = 0, 0

    def _put(self, run: Run) -> None:
        super()._put(run)
        if not run.open:
            fields = (run.key, run.nominal, run.due, run.state, run.outcome, run.reason, run.attempt, run.changed)
            self.sum ^= int.from_bytes(sha256(repr([str(f) for f in fields]).encode()).digest()[:16])
            self.ended += 1
            del self.ledger[run.identity][run.key], self.owner_of[run.key]


class Prompt:
    """A target that has done its work as soon as it is asked to."""

    def __init__(self, loop: VirtualLoop, registrar: Registrar) -> None:
        self.loop, self.registrar = loop, registrar

    async def start(self, launch: Launch) -> LaunchResult:
        self.loop.create_task(self.registrar.report(launch.run.key, Report.SUCCESS, launch.run.attempt))
        return LaunchResult.OK

    async def cancel(self, run: Run) -> None:
        return None


def cell(case: tuple[int, int, int]) -> tuple[int, int]:
    """One cluster for so many days: the sum of its ledger, and how many runs have ended."""
    part, schedules, days = case
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(_cell(loop, part, schedules, days))
    finally:
        loop.abandon()


async def _cell(loop: VirtualLoop, part: int, schedules: int, days: int) -> tuple[int, int]:
    store = Ledger(VirtualClock(loop, START))
    registrar = Registrar(store)
    own = [n for n in range(schedules) if n // WINDOW_EVERY % PARTS == part]  # each part has as many windows
    for n in own:
        window = "" if n % WINDOW_EVERY else "@win(around,1h)"
        zone = ("UTC", "Europe/Berlin", "America/New_York")[n % 3]
        text = f"{n % 4 * 15} {n // 4 % 24} * * * {window}".strip()
        await registrar.upsert(Job(f"job-{n}", parse(text, dialect="kron", timezone=zone), target="prompt:"))
    timer, settings = VirtualTimer(loop), Settings(tick=600_000, shard_lease=1_500_000)
    worker = Worker(store, {"prompt": Prompt(loop, registrar)}, timer, owner="only", settings=settings)
    while loop.time() < days * 86_400:
        await asyncio.sleep(await worker.tick() / 1000)
    return store.sum, store.ended


def year(schedules: int = 10_000) -> bool:
    """Simulate it, and print the digest: the same for the same number of schedules, on every machine and Python."""
    began = time.monotonic()
    total, ended = 0, 0
    for part, count in each(cell, [(part, schedules, DAYS) for part in range(PARTS)]):
        total, ended = total ^ part, ended + count
    took = time.monotonic() - began
    print(f"  digest {total:032x}")
    verdict = "PASS" if took <= LIMIT and ended >= schedules * (DAYS - 1) else "FAIL"
    print(
        f"{verdict}: {schedules:,d} daily schedules, {ended:,d} runs in a year, in {took:.0f} s (at most {LIMIT:.0f})"
    )
    return verdict == "PASS"
