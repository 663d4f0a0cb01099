"""What a tick costs in a small database and in a large one: 10,000 schedules due in one second, of 10,000 or a million.

`KRON_SIZES` names other sizes: `KRON_SIZES=10000,1000000,10000000` takes a quarter of an hour and 15 GB. Each round has
other schedules due. They are of a few kinds, as those of customers may be, and a worker remembers what it has read;
with `KRON_OWN=1` each has a description of its own, and a worker has to read the definitions of most of them. What is
measured is CPU, of the server and of the worker, planning ahead included; and the bytes that schedules and runs take.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

from tests import spent
from tests.postgres import Server, connect, running

from benchmarks.ticks.bare import SQL
from benchmarks.ticks.jobs import KINDS, START, a_job
from benchmarks.ticks.ours import Ours
from kron.stores.job_codec import write_job
from kron.stores.postgres.maintain import weeks
from kron.stores.postgres.rows import digest

SIZES = [int(size) for size in os.environ.get("KRON_SIZES", "10000,1000000").split(",")]
WANTED = {1_000_000: 1.2, 10_000_000: 1.5}
SOME = 10_000
OWN = bool(os.environ.get("KRON_OWN"))
ROUNDS = int(os.environ.get("KRON_ROUNDS", "5"))
SETTINGS = {"shared_buffers": "4GB", "max_wal_size": "16GB", "checkpoint_timeout": "30min"}
FAR = START + 400 * 86_400


class Sized:
    """A database with so many schedules, and a worker on it."""

    def __init__(self, server: Server, size: int) -> None:
        self.server, self.size, self.database = server, size, server.database()
        server.sql("GRANT USAGE ON SCHEMA kron TO kron; GRANT ALL ON ALL TABLES IN SCHEMA kron TO kron", self.database)
        server.sql("SELECT kron_make_partition(%s)", self.database, weeks(START)[0])
        self.owner = connect(server.url(self.database), autocommit=True)
        self._fill()
        url = server.url(self.database, "kron")
        self.ours = Ours(url, server.url(self.database), SOME)

    def _fill(self) -> None:
        began = time.monotonic()
        self.owner.execute(SQL["make_kinds"].encode())
        with self.owner.cursor() as cursor, cursor.copy(b"COPY kinds FROM STDIN") as copy:
            rows = [write_job(a_job(n)) for n in range(KINDS)]
            kinds = self.size if OWN else KINDS
            for n in range(kinds):
                row = rows[n % KINDS]._replace(description=f"schedule {n}") if OWN else rows[n]
                copy.write_row((n, digest(row), *row))
        for query in ("fill_definitions", "fill_due"):
            values = {"count": self.size, "kinds": kinds, "far": FAR, "start": START}
            self.owner.execute(SQL[query].encode(), values)
        self.owner.execute(b"VACUUM ANALYZE")
        print(f"{self.size:,} schedules made in {time.monotonic() - began:.0f} s", file=sys.stderr)

    def bytes(self) -> tuple[float, float]:
        """What a schedule takes on the disk, and what a run does, with all their indexes."""
        ((schedules, runs),) = self.owner.execute(SQL["bytes"].encode()).fetchall()
        return schedules / self.size, float(runs)

    def cost(self, turn: int) -> tuple[float, float, float]:
        """Microseconds of CPU for a tick, of the server and of the worker, and bytes of the write-ahead log."""
        due = START + 3600 * (turn + 1)
        values = {"due": due, "some": SOME, "step": self.size // SOME, "turn": turn}
        self.owner.execute(SQL["set_some"].encode(), values)
        self.owner.execute(b"VACUUM schedule_state")
        hands = [hand.pid for hand in self.ours.hands]
        theirs, mine, log = spent.of_server(self.server), spent.of(hands), self._log()
        self.ours.foresee(due)
        done = self.ours.tick(due)
        assert done == SOME, f"{done} of {SOME}"
        written = self._log() - log
        used = spent.between(theirs, spent.of_server(self.server)), spent.between(mine, spent.of(hands))
        self.owner.execute(SQL["end_runs"].encode())
        self.owner.execute(SQL["rest"].encode(), {"far": FAR})
        return used[0] / done * 1e6, used[1] / done * 1e6, written / done

    def _log(self) -> int:
        ((place,),) = self.owner.execute(SQL["log"].encode()).fetchall()
        return int(place)


def main() -> int:
    """Measure, print, judge."""
    with running(SETTINGS, folder=os.environ.get("KRON_BENCH_FOLDER", "/tmp")) as server:
        server.sql("CREATE ROLE kron LOGIN")
        parts = {size: Sized(server, size) for size in SIZES}
        server.sql("CHECKPOINT")
        found = dict[int, list[tuple[float, float, float]]]()
        for turn in range(ROUNDS + 1):  # the first warms up
            for size, part in parts.items():
                found.setdefault(size, []).append(part.cost(turn))
        sizes = {size: part.bytes() for size, part in parts.items()}
        for part in parts.values():
            part.ours.close()
    costs = {size: [statistics.median(c) for c in zip(*rounds[1:], strict=True)] for size, rounds in found.items()}
    kinds = "each with a description of its own" if OWN else f"of {KINDS:,} kinds"
    print(f"{SOME:,} due in one second, {kinds}, other ones each time; {ROUNDS} rounds after one to warm up, fsync on")
    short = 0
    for size, cost in costs.items():
        ratio, wanted = sum(cost[:2]) / sum(costs[SIZES[0]][:2]), WANTED.get(size, 1.0)
        short += ratio > wanted
        parts_of = f"server {cost[0]:5.1f} us, worker {cost[1]:5.1f} us of CPU a tick"
        print(f"  of {size:>10,} schedules: {parts_of}, {ratio:.2f} of the smallest, wanted {wanted}")
        print(f"{'':25}a schedule {sizes[size][0]:.0f} B, a run {sizes[size][1]:.0f} B, a tick {cost[2]:.0f} B of log")
    print(f"{'FALLS SHORT' if short else 'PASS'}: {len(costs) - short} of {len(costs)} sizes as wanted")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
