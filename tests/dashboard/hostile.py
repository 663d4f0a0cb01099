"""A store whose names, notes, labels, payloads and answers attack the pages that show them."""

from __future__ import annotations

import asyncio

from kron.engine.clock import ManualClock
from kron.engine.launcher import Launch
from kron.engine.registrar import Actor, Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.language import parse
from kron.language.source import source_of
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.stores.memory import MemoryStore
from kron.testing import VirtualClock, VirtualLoop, VirtualTimer
from kron.timing.job import Job
from kron.timing.labels import labels_of
from tests.dashboard.seeded import NOW

SCRIPT = "<script>window.pwned=1</script>"
IMAGE = '"><img src=x onerror=window.pwned=1>'
NAMES = (
    SCRIPT,
    IMAGE,
    "' onmouseover='window.pwned=1' x='",
    "javascript:window.pwned=1",
    "{{ 7*7 }}{% raw %}",
    "../../static/x",
    "a/b?c=d#e&f=<b>g</b>",
    "%3Cscript%3E%00",
    "\u202egnp.exe",
    "x" * 400,
    "</title><svg onload=window.pwned=1>",
)
MARKS = (SCRIPT, IMAGE, "javascript:window.pwned=1", "{{ 7*7 }}", "who<b>", "answer<b>")  # shown as text


class HostileTarget:
    """A target whose answers attack the pages."""

    def __init__(self, loop: VirtualLoop, registrar: Registrar) -> None:
        self.loop, self.registrar = loop, registrar

    async def start(self, launch: Launch) -> LaunchResponse:
        if launch.run.identity == SCRIPT:
            return LaunchResponse(LaunchResult.REJECTED, code=500, excerpt=f"answer<b>{SCRIPT}{IMAGE}")
        if launch.run.identity != IMAGE:  # that one stays active
            self.loop.create_task(self._fail(launch.run))
        return LaunchResponse(LaunchResult.OK)

    async def _fail(self, run: Run) -> None:
        await asyncio.sleep(1)
        await self.registrar.report(run.key, Report.FAILED, run.attempt, error=f"answer<b>{IMAGE}{SCRIPT}")

    async def cancel(self, run: Run) -> None:
        return None


def hostile_store() -> MemoryStore:
    """Return the store, whose clock stands still."""
    loop = VirtualLoop()
    try:
        store = MemoryStore(VirtualClock(loop, NOW - 600))
        loop.run_until_complete(_play(loop, store))
    finally:
        loop.abandon()
    store.clock = ManualClock(NOW)
    return store


async def _play(loop: VirtualLoop, store: MemoryStore) -> None:
    registrar = Registrar(store)
    for text in ("*/5 * * * *", "*/4 * * * *"):
        for name in NAMES:
            schedule = parse(text, dialect="kron", timezone="Europe/Paris")
            await registrar.upsert(
                Job(
                    name,
                    schedule,
                    name=SCRIPT,
                    description=IMAGE,
                    target=f"https://{'x' * 60}.example/{SCRIPT}",
                    source=source_of(text, "kron", schedule),
                    payload=f'{{"a":"{SCRIPT}"}}',
                    labels=labels_of({"team": SCRIPT, "b": IMAGE, "long": "y" * 200}),
                ),
                Actor(f"who<b>{IMAGE}", f"why<b>{SCRIPT}{'z' * 300}"),
            )
    worker = Worker(
        store,
        {"https": HostileTarget(loop, registrar)},
        VirtualTimer(loop),
        owner=f"w{SCRIPT}{IMAGE}",
        settings=Settings(tick=60_000, shard_lease=180_000),
    )
    task = loop.create_task(worker.run(asyncio.Event()))
    await asyncio.sleep(550)
    await registrar.pause("../../static/x", Actor(f"who<b>{IMAGE}", f"why<b>{SCRIPT}"))
    await registrar.delete("\u202egnp.exe", Actor(f"who<b>{IMAGE}", f"why<b>{SCRIPT}"))
    await asyncio.sleep(50)
    task.cancel()
