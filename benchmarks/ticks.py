"""Ticks a second: 100,000 schedules due in one second, on a real PostgreSQL that syncs every commit.

Kron's own path (look, plan, settle, with real decisions and a row in the ledger each) beside two bare statements that
decide nothing: one on a narrow queue, one on a wide row. They take turns, so that each has its share of whatever else
the machine is doing; the figures are medians of the rounds.
"""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
from tests.postgres import Server, running

from kron import parse
from kron.apps.cli.worker import RARELY
from kron.clock import ManualClock
from kron.core.case import Case
from kron.core.job import Job
from kron.core.plan import plan
from kron.store import SHARDS, Settlement, settlement
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.maintain import weeks
from kron.stores.statements import named

COUNT = int(os.environ.get("KRON_TICKS", "100000"))
ROUNDS = int(os.environ.get("KRON_ROUNDS", "5"))
BATCH = 5_000
LANES = 2  # batches on their way at once: while the database writes one, the other is planned
START = 1_800_000_000 // 3600 * 3600
SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
SQL = named(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
WANTED = {"queue": 0.9, "wide": 1.3}

EXPRESSIONS = [
    *(f"0,{n} * * * *" for n in range(1, 60)),
    *(f"0-{n} * * * *" for n in range(1, 60)),
    *(f"*/{n} * * * *" for n in (2, 3, 4, 5, 6, 10, 12, 15, 20, 30)),
    *(f"0,{n},{n + 10} * * * *" for n in range(1, 49)),
    *(f"0-{n}/2 * * * *" for n in range(10, 34)),
]  # 200, and every one of them has a period at each full hour
ZONES = [
    *("UTC", "Europe/London", "Europe/Paris", "Europe/Berlin", "Europe/Madrid", "Europe/Rome", "Europe/Athens"),
    *("Africa/Cairo", "Africa/Lagos", "Asia/Tokyo", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore"),
    *("America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Sao_Paulo"),
    *("Australia/Brisbane", "Pacific/Auckland"),
]


def a_job(n: int) -> Job:
    """The nth schedule; a tenth of them have windows."""
    text = f"{EXPRESSIONS[n % 200]} @tz({ZONES[n // 200 % len(ZONES)]})"
    window = " @win(after,500ms)" if n % 10 == 0 else ""  # decided in full, and due in the same second
    return Job(f"bench/schedule-{n:06d}", parse(text + window, dialect="kron"), target="http://localhost/")


class Bare:
    """A bare statement, batch after batch."""

    def __init__(self, url: str, table: str) -> None:
        self.connection, self.table = psycopg.connect(url, autocommit=True), table
        self.say(f"make_{table}")
        self.say(f"fill_{table}", due=START, count=COUNT)

    def say(self, query: str, **values: int) -> Any:
        """Run a named statement."""
        return self.connection.execute(SQL[query].encode(), values or None)

    def prepare(self, due: int) -> None:
        """Nothing to do: it has put all of them where they belong."""

    def tick(self, due: int) -> int:
        """Handle all that is due."""
        done = 0
        while done < COUNT:
            done += self.say(f"tick_{self.table}", due=due).fetchone()[0]
        return done


class Ours:
    """Kron's store and plan, by the role and under the rules of a real installation."""

    def __init__(self, url: str, owner_url: str, lanes: int) -> None:
        self.runner, self.lanes = asyncio.Runner(), lanes
        self.owner = psycopg.connect(owner_url, autocommit=True)
        self.store = PostgresStore(url, ManualClock(START), size=lanes, deadline=60)

    def define(self) -> None:
        """Define all schedules."""
        for first in range(0, COUNT, 2_000):
            cases = [Case(a_job(n), 1, START - 1, START * 1000, wake=START * 1000) for n in range(first, first + 2_000)]
            held = self.runner.run(self.store.settle([Settlement(None, case) for case in cases], START * 1000))
            assert all(held)

    def prepare(self, due: int) -> None:
        """Let all of them be due again."""
        self.owner.execute(SQL["end_runs"].encode())
        self.owner.execute(SQL["set_back"].encode(), {"due": due})

    def tick(self, due: int) -> int:
        """Handle all that is due."""
        return sum(self.runner.run(self._lanes(due * 1000)))

    async def _lanes(self, now: int) -> list[int]:
        shares = [frozenset(range(lane, SHARDS, self.lanes)) for lane in range(self.lanes)]
        return await asyncio.gather(*(self._lane(share, now) for share in shares))

    async def _lane(self, shards: frozenset[int], now: int) -> int:
        done = 0
        while cases := await self.store.look(shards, now, BATCH):
            plans = [plan(case, now, owner="host/0123456789abcdef", lease=30_000) for case in cases]
            held = await self.store.settle([settlement(made) for made in plans], now)
            done += sum([len(made.new) for made, won in zip(plans, held, strict=True) if won])
        return done


def measured(part: Any, due: int, server: Server) -> tuple[float, float, float]:
    """Ticks a second; microseconds of CPU a tick, of the server's processes and of ours."""
    before, spent, began = cpu(server), time.process_time(), time.perf_counter()
    done = part.tick(due)
    lasted, spent = time.perf_counter() - began, time.process_time() - spent
    assert done == COUNT, f"{done} of {COUNT}"
    theirs = sum(used - before.get(pid, 0) for pid, used in cpu(server).items())
    return done / lasted, theirs / done * 1e6, spent / done * 1e6


def cpu(server: Server) -> dict[int, float]:
    """The seconds of CPU that each process of the server has used."""
    postmaster = (server.data / "postmaster.pid").read_text(encoding="utf-8").split()[0]
    used = dict[int, float]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if fields[1] == postmaster:
            used[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def contenders(server: Server) -> dict[str, Any]:
    """All of them in one database, ready."""
    database = server.database()
    server.sql("CREATE ROLE kron LOGIN")
    owner, ours = server.url(database), server.url(database, "kron")
    server.sql("GRANT ALL ON ALL TABLES IN SCHEMA public TO kron", database)
    server.sql("SELECT kron_make_partition(%s)", database, weeks(START)[0])
    found: dict[str, Any] = {"queue": Bare(owner, "queue"), "wide": Bare(owner, "wide")}
    found["kron, one at a time"] = Ours(ours, owner, 1)
    found["kron"] = Ours(ours, owner, LANES)
    found["kron"].define()
    return found


def main() -> int:
    """Measure, print, judge."""
    gc.set_threshold(*RARELY)
    with running(SETTINGS, folder=os.environ.get("KRON_BENCH_FOLDER", "/tmp")) as server:
        parts, found = contenders(server), dict[str, list[tuple[float, float, float]]]()
        number = 0
        for turn in range(ROUNDS + 1):  # the first warms up
            for name, part in parts.items():
                due = START + 3600 * (number if isinstance(part, Ours) else turn)
                number += isinstance(part, Ours)
                part.prepare(due)
                server.sql("VACUUM ANALYZE", "kron1")
                server.sql("CHECKPOINT")
                found.setdefault(name, []).append(measured(part, due, server))
    print(f"{COUNT:,} due in one second, batches of {BATCH:,}, {ROUNDS} rounds after one to warm up, fsync on")
    rates = dict[str, float]()
    for name, rounds in found.items():
        rate, server_us, client_us = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
        rates[name] = rate
        print(f"  {name:22}{rate:9,.0f} ticks/s   server {server_us:5.1f} us, client {client_us:5.1f} us a tick")
    short = 0
    for name, wanted in WANTED.items():
        ratio = rates["kron"] / rates[name]
        short += ratio < wanted
        print(f"{'reached' if ratio >= wanted else 'NOT reached':12}{ratio:.2f} of the bare {name}, wanted {wanted}")
    print(f"{'FALLS SHORT' if short else 'PASS'}: {len(WANTED) - short} of {len(WANTED)} targets reached")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
