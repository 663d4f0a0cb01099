"""A worker of `run_lives.py`, in a process of its own. It is told line by line what to do, and answers in JSON.

foresee DUE   plan what will be due then, as it does in the minute before; how many
with DUE      it is then: record all that is due, and the success of each run; how many
without DUE   the same, but leave out the counters of outcomes
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence

from benchmarks.ticks.hand import BATCH, MINUTE, Fixed, Hand, foresee
from benchmarks.ticks.jobs import TARGET
from kron.apps.cycle_collector import collect_rarely
from kron.engine.batch_writer import MAX_BATCH_SIZE
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.fleet import SHARDS, Share, kind_of
from kron.engine.settings import Settings
from kron.rules.launch_result import LaunchResult, Report, answered, next_check_after
from kron.rules.run import Run
from kron.rules.update import RunUpdate
from kron.stores.postgres import PostgresStore, run_updates
from kron.stores.postgres.outcome_counts import count_ends
from kron.stores.postgres.pool import Session
from kron.timing.schedule.policy import Policy

WITH, WITHOUT = "with", "without"


async def count_nothing(session: Session, ends: Sequence[object]) -> None:
    """Leave the counters as they are."""


async def live(worker: Hand, store: PostgresStore, now: int, counters: str) -> dict[str, float]:
    """Record all that is due, and then the success of each run, in batches of the size that a dispatcher writes."""
    run_updates.count_ends = count_nothing if counters == WITHOUT else count_ends
    launched = list[tuple[Run, Policy]]()
    while True:
        passed = await worker._pass()
        launched += [(run, plan.state.policy) for plan in passed.plans for run in plan.new]
        if not worker.full:
            break
    for first in range(0, len(launched), MAX_BATCH_SIZE):
        updates = [success(run, policy, now) for run, policy in launched[first : first + MAX_BATCH_SIZE]]
        assert all(await store.update_runs(updates, now))
    return {"done": len(launched)}


def success(run: Run, policy: Policy, now: int) -> RunUpdate:
    """The launcher's answer that the run has succeeded."""
    after = answered(run, LaunchResult.OK, policy, now, report=Report.SUCCESS)
    assert not after.open
    return RunUpdate(run, after, next_check_after(after, policy, now))


def main(url: str) -> None:
    """Obey until nobody speaks any more."""
    collect_rarely()
    clock = ManualClock()
    store = PostgresStore(url, clock, deadline=60)
    settings = Settings(batch=BATCH, lease=30_000, max_concurrent_launches=BATCH * 100, inflight=BATCH * 100)
    worker = Hand(store, {}, SystemTimer(), owner="host/1", settings=settings)
    worker.membership = Fixed(store, worker.owner, {}, worker.timer, settings)
    worker.membership.shares = (Share(frozenset(range(SHARDS)), frozenset({kind_of(TARGET)})),)
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            word, due = line.split()
            clock.time = int(due) - MINUTE * (word == "foresee")
            now = int(clock.time) * 1000
            work = foresee(worker, now) if word == "foresee" else live(worker, store, now, word)
            print(json.dumps(runner.run(work)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
