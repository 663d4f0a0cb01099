"""Cost of the load pass, and the lateness of runs in the same process without and with it; on PostgreSQL."""

import asyncio
import os
import time
from dataclasses import replace
from statistics import quantiles

from tests.postgres import running

from kron import parse
from kron.engine.clock import SystemTimer
from kron.engine.load_pass import LoadPass
from kron.engine.registrar import Registrar
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult
from kron.rules.pause import NO_ACTOR
from kron.stores.postgres import PostgresStore
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE

COUNT = int(os.environ.get("KRON_LOAD_COUNT", "20000"))  # schedules that the pass counts
EVERY_SECOND = 100  # schedules that run every second
SECONDS = 20


class Target:
    """Accepts every run at once, and keeps how late it was, in milliseconds."""

    def __init__(self):
        self.delays = []

    async def start(self, launch):
        """Accept the run."""
        self.delays.append(time.time() * 1000 - launch.run.due)
        return LaunchResult.OK

    async def cancel(self, run):
        """Do nothing."""


class Hurried(SystemTimer):
    """A timer without breaks, to measure the work alone."""

    async def sleep(self, seconds):
        """Yield to other tasks."""
        await asyncio.sleep(0)


async def define(store):
    """Define the schedules."""
    jobs = []
    for n in range(COUNT):
        window = " @win(after,1h)" if n % 2 else ""
        schedule = replace(parse(f"{n % 60} {n // 60 % 24} * * *{window}", dialect="kron"), policy=SERVICE)
        jobs.append((Job(f"t{n % 10}/{n}", schedule, target="other:it"), NO_ACTOR))
    for n in range(EVERY_SECOND):
        schedule = replace(parse("* * * * * *", dialect="service"), policy=SERVICE)
        jobs.append((Job(f"s/{n}", schedule, target="test:it"), NO_ACTOR))
    for start in range(0, len(jobs), 500):
        await Registrar(store).upsert_all(jobs[start : start + 500])


async def lateness(store, load_pass):
    """The lateness of runs, while the pass counts or not."""
    target, stop = Target(), asyncio.Event()
    worker = asyncio.create_task(Worker(store, {"test": target}, SystemTimer(), owner="w").run(stop))
    counting = asyncio.create_task(load_pass.once()) if load_pass else None
    await asyncio.sleep(3)
    target.delays.clear()
    await asyncio.sleep(SECONDS)
    is_counting = counting is not None and not counting.done()
    delays = sorted(target.delays)
    stop.set()
    if counting:
        counting.cancel()
        await asyncio.wait({counting})
    await worker
    cuts = quantiles(delays, n=100)
    return f"{len(delays):,} runs, p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms" + (
        ", still counting" if is_counting else ""
    )


async def measure(url):
    """Print the measurements."""
    set_tenant_scope(ALL_TENANTS)
    store = PostgresStore(url)
    await define(store)
    wall, cpu = time.monotonic(), time.process_time()
    count = await LoadPass(store, Hurried(), "w").once()
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(f"{count:,} schedules: {cpu:.1f} s of CPU in this process, {wall:.1f} s without breaks")
    for name, load_pass in (("without", None), ("with", LoadPass(store, SystemTimer(), "w")), ("without", None)):
        print(f"{name} the pass: {await lateness(store, load_pass)}")
    await store.close()


if __name__ == "__main__":
    with running() as server:
        asyncio.run(measure(server.url(server.database())))
