"""What the counters of outcomes cost: the whole lives of runs, with the counters and without them.

A life is the claim of a run and the record of its success, on a real PostgreSQL that syncs every commit. One worker
does both in turn, in alternating order, on the same schedules. So neither a slow moment of the machine nor a process
that happens to be slower favors one of them. The figures are medians over the pairs. Each minute has counters of all
schedules and of each tenant, so many tenants cost more than one.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, NamedTuple

from tests import spent
from tests.postgres import Server, connect, running

from benchmarks.ticks.bare import SQL
from benchmarks.ticks.jobs import START, a_job
from benchmarks.ticks.life import WITH, WITHOUT
from kron.engine.clock import ManualClock
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.maintain import weeks

COUNT = int(os.environ.get("KRON_TICKS", "20000"))
ROUNDS = int(os.environ.get("KRON_ROUNDS", "9"))
SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
LIMIT = 0.03
TENANTS = [1, 1_000]


class Cost(NamedTuple):
    """Of one round: seconds, and seconds of CPU of the server and of the worker."""

    seconds: float
    cpu: float


class Worker:
    """A worker in a process of its own."""

    def __init__(self, url: str) -> None:
        words = [sys.executable, "-m", "benchmarks.ticks.life", url]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, word: str, due: int) -> int:
        """What it answers."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{word} {due}\n")
        self.process.stdin.flush()
        return int(json.loads(self.process.stdout.readline())["done"])

    def close(self) -> None:
        """Let it go."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


async def define(url: str, tenants: int) -> None:
    """Define all schedules."""
    store = PostgresStore(url, ManualClock(START), deadline=60)
    for first in range(0, COUNT, 2_000):
        numbers = range(first, min(first + 2_000, COUNT))
        jobs = [a_job(n, f"tenant-{n % tenants}") for n in numbers]
        states = [ScheduleState(job, 1, START - 1, START * 1000, next_check_at=START * 1000) for job in jobs]
        assert all(await store.commit([ScheduleUpdate(None, state) for state in states], START * 1000))
    await store.close()


def lived(worker: Worker, owner: Any, server: Server, database: str, due: int, counters: str) -> Cost:
    """What the lives of all runs that are due then cost, with the counters or without them."""
    owner.execute(SQL["set_back"].encode(), {"due": due})
    server.sql("VACUUM ANALYZE", database)
    server.sql("CHECKPOINT")
    worker.tell("foresee", due)
    theirs, mine = spent.of_server(server), spent.of([worker.process.pid])
    began = time.perf_counter()
    done = worker.tell(counters, due)
    seconds = time.perf_counter() - began
    assert done == COUNT, f"{done} of {COUNT}"
    cpu = spent.between(theirs, spent.of_server(server)) + spent.between(mine, spent.of([worker.process.pid]))
    return Cost(seconds, cpu)


def measured(server: Server, tenants: int) -> list[dict[str, Cost]]:
    """The costs with and without the counters in each round; the first round, which warms up, is left out."""
    database = server.database()
    url, rounds, due = server.url(database), list[dict[str, Cost]](), START
    server.sql("SELECT kron_make_partition(%s)", database, weeks(START)[0])
    asyncio.run(define(url, tenants))
    worker = Worker(url)
    with connect(url, autocommit=True) as owner:
        for turn in range(ROUNDS + 1):
            costs = dict[str, Cost]()
            for name in (WITH, WITHOUT) if turn % 2 else (WITHOUT, WITH):
                due += 3600
                costs[name] = lived(worker, owner, server, database, due, name)
            rounds.append(costs)
            print(f"{tenants:,} tenants: round {turn} of {ROUNDS}", file=sys.stderr)
        counted = owner.execute("SELECT coalesce(sum(count), 0) FROM outcome_minutes WHERE scope = ''").fetchone()
    assert counted == (COUNT * (ROUNDS + 1),), f"{counted} are counted"
    worker.close()
    return rounds[1:]


def told(tenants: int, rounds: list[dict[str, Cost]]) -> float:
    """Print the costs for so many tenants; the median of what the counters add to a pair, in time."""
    for name in (WITHOUT, WITH):
        seconds, cpu = (statistics.median(column) for column in zip(*(costs[name] for costs in rounds), strict=True))
        rate, each = COUNT / seconds, cpu / COUNT * 1e6
        print(f"  {tenants:5,} tenants, {name + ' counters':17}{rate:9,.0f} lives/s   {each:6.1f} us of CPU each")
    times = [costs[WITH].seconds / costs[WITHOUT].seconds - 1 for costs in rounds]
    cpu_added = statistics.median(costs[WITH].cpu / costs[WITHOUT].cpu - 1 for costs in rounds)
    low, added, high = statistics.quantiles(times, n=4)
    print(
        f"  {tenants:5,} tenants: {added:+.1%} in time (quartiles {low:+.1%} to {high:+.1%}), {cpu_added:+.1%} in CPU"
    )
    return added


def main() -> int:
    """Measure, print, judge."""
    print(f"{COUNT:,} runs claimed and ended, {ROUNDS} pairs after one to warm up, fsync on", flush=True)
    with running(SETTINGS, folder=os.environ.get("KRON_BENCH_FOLDER", "/tmp")) as server:
        added, *_ = [told(tenants, measured(server, tenants)) for tenants in TENANTS]
    verdict = "FALLS SHORT" if added > LIMIT else "PASS"
    print(f"{verdict}: the counters add {added:+.1%} for one tenant, at most {LIMIT:+.0%} wanted")
    return 1 if added > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
