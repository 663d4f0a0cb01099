"""A worker of the benchmark, in a process of its own. It is told line by line what to do, and answers in JSON.

foresee DUE   plan what will be due then, as it does in the minute before; how many
tick DUE      it is then: record all that is due; how many, and how late the half and nearly all of them were
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence

from benchmarks.ticks.jobs import TARGET
from kron.apps.cycle_collector import collect_rarely
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.fleet import SHARDS, Share, kind_of
from kron.engine.membership import Membership
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.rules.update import ScheduleUpdate
from kron.stores.postgres import PostgresStore

BATCH = 5_000
MINUTE = 60


class Timed(PostgresStore):
    """A store that remembers when it has written how much."""

    written: list[tuple[float, int]]

    async def commit(self, settlements: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Write, and look at the clock."""
        held = await super().commit(settlements, now, together=together)
        self.written.append((time.perf_counter(), sum(held)))
        return held


class Hand(Worker):
    """A worker that plans ahead only when it is told to: what a tick costs does not contain the plans of the next."""

    async def _pause(self, shares: Sequence[Share], now: int, wake: int | None) -> int:
        return self.settings.tick


class Fixed(Membership):
    """The membership of a worker with a fixed share of the shards."""

    def due(self, now: int) -> bool:
        """There is nothing to renew."""
        return False


async def foresee(worker: Worker, now: int) -> dict[str, float]:
    """Plan all that will be due."""
    while await worker.prefetcher.fill(worker.membership.shares[0], now, worker.membership.informed):
        pass
    return {"done": len(worker.prefetcher.planned)}


async def tick(worker: Worker, store: Timed) -> dict[str, float]:
    """Record all that is due."""
    store.written, done, began = [], 0, time.perf_counter()
    while True:
        passed = await worker._pass()
        done += sum(len(made.new) for made in passed.plans)
        if not worker.full:
            break
    return {"done": done, "p50": _late(store, 0.5) - began, "p99": _late(store, 0.99) - began}


def _late(store: Timed, share: float) -> float:
    """When so large a share was written."""
    left = share * sum(count for _, count in store.written)
    for at, count in store.written:
        left -= count
        if left <= 0:
            return at
    return time.perf_counter()


def main(url: str, first: str, step: str, inflight: str, lookahead: str, parallel_commits: str) -> None:
    """Obey until nobody speaks any more."""
    collect_rarely()
    clock = ManualClock()
    store = Timed(url, clock, deadline=60)
    store.written = []
    bounds = {"inflight": int(inflight), "lookahead": int(lookahead), "parallel_commits": int(parallel_commits)}
    settings = Settings(
        batch=BATCH, lease=30_000, max_concurrent_launches=BATCH * 100, **bounds
    )  # as many as it finds: none is sent
    worker = Hand(store, {}, SystemTimer(), owner=f"host/{first:>016}", settings=settings)
    worker.membership = Fixed(store, worker.owner, {}, worker.timer, settings)
    share = Share(frozenset(range(int(first), SHARDS, int(step))), frozenset({kind_of(TARGET)}))
    worker.membership.shares = (share,)
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            word, due = line.split()
            clock.time = int(due) - MINUTE * (word == "foresee")
            work = foresee(worker, int(clock.time) * 1000) if word == "foresee" else tick(worker, store)
            print(json.dumps(runner.run(work)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
