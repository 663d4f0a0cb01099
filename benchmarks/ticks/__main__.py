"""Ticks a second: 100,000 schedules due in one second, on a real PostgreSQL that syncs every commit.

Kron's own workers, with real decisions, policies and a row in the ledger each, beside two bare statements that decide
nothing: one on a narrow queue, one on a wide row. They take turns, so that each has its share of whatever else the
machine is doing; the figures are medians of the rounds. As in life, what is due is planned in the minute before; what
it costs if it is not is shown too.

A worker has several batches on their way at once, so one of them may keep all cores of a small server busy, and a
second has nothing to add; how workers share the work is then seen by those that write one batch at a time.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from typing import Any

from tests import spent
from tests.postgres import Server, running

from benchmarks.ticks.bare import Bare
from benchmarks.ticks.jobs import START, a_job
from benchmarks.ticks.ours import Ours
from kron.engine.clock import ManualClock
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.maintain import weeks

COUNT = int(os.environ.get("KRON_TICKS", "100000"))
ROUNDS = int(os.environ.get("KRON_ROUNDS", "5"))
SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
ONE, TWO, UNFORESEEN = "kron", "kron, two workers", "kron, nothing planned ahead"
LANE, TWO_LANES = "kron, one lane", "kron, two workers, a lane each"
WANTED = [(ONE, "queue", 0.9), (ONE, "wide", 1.3), (TWO, ONE, 1.3)]


async def define(url: str) -> None:
    """Define all schedules."""
    store = PostgresStore(url, ManualClock(START), deadline=60)
    for first in range(0, COUNT, 2_000):
        cases = [
            ScheduleState(a_job(n), 1, START - 1, START * 1000, next_check_at=START * 1000)
            for n in range(first, first + 2_000)
        ]
        assert all(await store.commit([ScheduleUpdate(None, case) for case in cases], START * 1000))
    await store.close()


def contenders(server: Server, database: str) -> dict[str, Any]:
    """All of them in one database, ready."""
    server.sql("CREATE ROLE kron LOGIN")
    owner, ours = server.url(database), server.url(database, "kron")
    server.sql("GRANT USAGE ON SCHEMA kron TO kron; GRANT ALL ON ALL TABLES IN SCHEMA kron TO kron", database)
    server.sql("SELECT kron_make_partition(%s)", database, weeks(START)[0])
    asyncio.run(define(ours))
    return {
        "queue": Bare(owner, "queue", COUNT),
        "wide": Bare(owner, "wide", COUNT),
        UNFORESEEN: Ours(ours, owner, COUNT, lookahead=0),
        ONE: Ours(ours, owner, COUNT),
        TWO: Ours(ours, owner, COUNT, workers=2),
        LANE: Ours(ours, owner, COUNT, parallel_commits=1),
        TWO_LANES: Ours(ours, owner, COUNT, workers=2, parallel_commits=1),
    }


def measured(part: Any, due: int, server: Server, database: str) -> tuple[float, float, float]:
    """Ticks a second; microseconds of CPU a tick, of the server's processes and of ours, planning ahead included."""
    hands = [hand.pid for hand in part.hands] if isinstance(part, Ours) else []
    part.prepare(due)
    server.sql("VACUUM ANALYZE", database)
    server.sql("CHECKPOINT")
    theirs, mine = spent.of_server(server), spent.of(hands)
    if isinstance(part, Ours):
        part.foresee(due)
    began = time.perf_counter()
    done = part.tick(due)
    lasted = time.perf_counter() - began
    assert done == COUNT, f"{done} of {COUNT}"
    server_used, used = spent.between(theirs, spent.of_server(server)), spent.between(mine, spent.of(hands))
    return done / lasted, server_used / done * 1e6, used / done * 1e6


def main() -> int:
    """Measure, print, judge."""
    found = dict[str, list[tuple[float, float, float]]]()
    with running(SETTINGS, folder=os.environ.get("KRON_BENCH_FOLDER", "/tmp")) as server:
        database = server.database()
        parts, hour = contenders(server, database), 0
        for turn in range(ROUNDS + 1):  # the first warms up
            for name, part in parts.items():
                hour += isinstance(part, Ours)
                due = START + 3600 * (hour if isinstance(part, Ours) else turn)
                found.setdefault(name, []).append(measured(part, due, server, database))
            print(f"round {turn} of {ROUNDS}", file=sys.stderr)
        late = {name: part.late[1:] for name, part in parts.items() if isinstance(part, Ours)}
        for part in parts.values():
            if isinstance(part, Ours):
                part.close()
    print(f"{COUNT:,} due in one second, {ROUNDS} rounds after one to warm up, fsync on")
    return judged(found, late)


def judged(found: dict[str, list[tuple[float, float, float]]], late: dict[str, list[tuple[float, float]]]) -> int:
    """Print the medians and the verdict."""
    rates = dict[str, float]()
    for name, rounds in found.items():
        rate, server_us, client_us = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
        rates[name] = rate
        line = f"  {name:31}{rate:9,.0f} ticks/s   server {server_us:5.1f} us, client {client_us:5.1f} us a tick"
        if name in late:
            half, most = (statistics.median(column) for column in zip(*late[name], strict=True))
            line += f"   late p50 {half:.2f} s, p99 {most:.2f} s"
        print(line)
    short = 0
    for name, other, wanted in WANTED:
        ratio = rates[name] / rates[other]
        short += ratio < wanted
        print(f"{'reached' if ratio >= wanted else 'NOT reached':12}{name}: {ratio:.2f} of {other}, wanted {wanted}")
    print(f"{'':12}{TWO_LANES}: {rates[TWO_LANES] / rates[LANE]:.2f} of {LANE}; {os.cpu_count()} cores for all")
    print(f"{'FALLS SHORT' if short else 'PASS'}: {len(WANTED) - short} of {len(WANTED)} targets reached")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
