"""Worker of the benchmark, in a process of its own: `python -m benchmarks.ui.worker URL RATE`.

So many schedules run every second, and their target accepts each run at once. A line `begin` on standard input begins a
measurement; `end` ends it, and answers with the lateness of all launches in it, in milliseconds, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import replace

from kron import parse
from kron.apps.cycle_collector import collect_rarely
from kron.apps.wiring import open_store
from kron.engine.clock import SystemTimer
from kron.engine.event_relay import EventRelay, relaying
from kron.engine.launcher import Launch
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.store import Store
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult
from kron.rules.pause import NO_ACTOR
from kron.rules.run import Run
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE

LOOKAHEAD_MS = 5_000
PER_REQUEST = 400  # schedules that are defined at once


class Target:
    """Accepts every run, and keeps how late it was, in milliseconds."""

    def __init__(self) -> None:
        self.delays = list[float]()

    async def start(self, launch: Launch) -> LaunchResult:
        """Accept the run."""
        self.delays.append(time.time() * 1000 - launch.run.due)
        return LaunchResult.OK

    async def cancel(self, run: Run) -> None:
        """Do nothing."""


async def define(store: Store, rate: int) -> None:
    """Define so many schedules that run every second."""
    schedule = replace(parse("* * * * * *", dialect="service"), policy=SERVICE)
    jobs = [(Job(f"busy/{n:04d}", schedule, target="bench:it"), NO_ACTOR) for n in range(rate)]
    for first in range(0, rate, PER_REQUEST):
        await Registrar(store).upsert_all(jobs[first : first + PER_REQUEST])


async def work(url: str, rate: int) -> None:
    """Work until standard input ends."""
    set_tenant_scope(ALL_TENANTS)
    collect_rarely()
    async with open_store(url) as store:
        await define(store, rate)
        relay, target, stop = EventRelay(store.events, SystemTimer()), Target(), asyncio.Event()
        settings = Settings(lookahead=LOOKAHEAD_MS, max_concurrent_launches=200)
        worker = Worker(
            store, {"bench": target}, SystemTimer(), owner="bench/0000000000000001", settings=settings, sink=relay
        )
        async with relaying(relay):
            working = asyncio.create_task(worker.run(stop))
            while line := await asyncio.to_thread(sys.stdin.readline):
                if line.strip() == "end":
                    print(json.dumps(target.delays), flush=True)
                target.delays = []
            stop.set()
            await working


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2])))
