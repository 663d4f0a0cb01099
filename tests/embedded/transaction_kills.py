"""kill -9 between a write and its commit: `python -m tests.embedded.transaction_kills [HOW MANY]`.

Processes share a PostgreSQL and write a row in the transaction of each run. They kill themselves, mostly between the
write and the commit, and others take over. Then every success must have its row, committed by the same transaction,
and every row its success; and nothing that was begun is left open. A run fails for good if the database was too busy to
commit it and a newer period took the place of its retry; it has no row then.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from kron.apps.wiring import open_store
from tests.embedded.bookkeeper import IMMORTAL, LEASE, TABLE, Fate, live
from tests.postgres import Server, running

AT_ONCE = 4
PATIENCE = 60.0  # seconds without a kill, or for the end
TOGETHER = """
    SELECT count(*) FILTER (WHERE w.pid IS NOT NULL AND r.status = 'success'),
           count(*) FILTER (WHERE r.status IS DISTINCT FROM 'success'),
           count(*) FILTER (WHERE w.pid IS NULL)
    FROM (SELECT xmin::text AS x, job, pid FROM written) w
    FULL JOIN (SELECT xmin::text AS x, schedule_id AS job, status FROM runs WHERE status = 'success') r USING (x, job)
"""
DONE = """
    SELECT (SELECT min(cursor) >= %s FROM schedule_state)
       AND NOT EXISTS (SELECT FROM runs WHERE open AND run_at <= %s)
"""
BEGUN = """
    SELECT count(*), count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE open)
    FROM runs WHERE attempt > 0 AND run_at <= %s
"""
AGAIN = "SELECT count(*), max(attempt) FROM runs WHERE attempt > 1"


async def make_partitions(url: str) -> None:
    """Make them before the first run: rows that move into a partition later have another transaction in `xmin`."""
    async with open_store(url) as store:
        await store.maintain(await store.now(), None)


class Campaign:
    """Keeps some lives going until so many have been killed."""

    def __init__(self, server: Server, folder: Path, seed: int) -> None:
        self.server, self.log, self.random = server, folder / "log", Random(seed)
        self.database = server.database()
        server.sql(TABLE, self.database)
        asyncio.run(make_partitions(server.url(self.database)))
        self.alive: dict[int, Fate] = {}
        self.stopped: dict[int, float] = {}
        self.killed: Counter[str] = Counter()
        self.begun = 0

    def begin(self, fate: Fate) -> None:
        pid = os.fork()
        if pid == 0:
            live(self.server.url(self.database), fate, self.log)
        self.alive[pid] = fate
        self.begun += 1

    def kill(self, kills: int) -> None:
        """Until so many lives have ended as they were to."""
        while self.killed.total() < kills:
            while len(self.alive) < AT_ONCE:
                self.begin(Fate.of(self.begun, self.random))
            before = self.killed.total()
            self.wait(lambda before=before: self.killed.total() > before)  # type: ignore[misc]
        self.end(signal.SIGKILL)

    def finish(self) -> int:
        """A last life does all that is left. The second up to which everything must be done."""
        self.begin(IMMORTAL)
        (now,) = self.ask("SELECT extract(epoch FROM now())::bigint")
        self.wait(lambda: self.ask(DONE, now, now) == (True,))
        self.end(signal.SIGTERM)
        return now

    def ask(self, query: str, *values: int) -> tuple[int, ...]:
        return tuple(self.server.sql(query, self.database, *values)[0])

    def wait(self, condition: Callable[[], bool], seconds: float | None = None) -> None:
        """Look after the living until then: bury the dead, and wake who has stood still for too long to be right."""
        until = time.monotonic() + (PATIENCE if seconds is None else seconds)
        while not condition():
            if time.monotonic() > until:
                assert seconds is not None, self.account()
                return
            self.look()
            time.sleep(0.005)

    def look(self) -> None:
        for pid in list(self.alive):
            ended, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
            if not ended:
                if pid in self.stopped and time.monotonic() - self.stopped[pid] > 2 * LEASE / 1000:
                    del self.stopped[pid]
                    os.kill(pid, signal.SIGCONT)
            elif os.WIFSTOPPED(status):
                self.stopped[pid] = time.monotonic()
            else:
                fate = self.alive.pop(pid)
                assert os.WIFSIGNALED(status) or fate is IMMORTAL, "a life ended by itself"
                self.killed[fate.place] += fate is not IMMORTAL

    def end(self, how: signal.Signals) -> None:
        for pid in list(self.alive):
            os.kill(pid, how)
            os.kill(pid, signal.SIGCONT)
            os.waitpid(pid, 0)
        self.alive.clear()

    def account(self) -> str:
        """What there is to see when nothing happens any more."""
        states = self.server.sql("SELECT status, count(*), max(attempt) FROM runs GROUP BY 1", self.database)
        talks = self.server.sql("SELECT pid, state, wait_event, now() - xact_start, query FROM pg_stat_activity")
        told = "\n".join(map(str, talks))
        return f"nothing happens: {self.alive}, {self.stopped}, {states}\n{told}\n{self.log.read_text()[-5000:]}"

    def fenced(self) -> int:
        return self.log.read_text().count("has lost its run")


def main(kills: int = 1_000, seed: int = 1) -> int:
    """Kill so many, and say what came of it; 1 if a row and a success are not the same thing."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, running() as server:
        campaign = Campaign(server, Path(folder), seed)
        try:
            campaign.kill(kills)
            last = campaign.finish()
        finally:
            campaign.end(signal.SIGKILL)
        together, rows_alone, successes_alone = campaign.ask(TOGETHER)
        (again, most), (rows,) = campaign.ask(AGAIN), campaign.ask("SELECT count(*) FROM written")
        begun, failed, left = campaign.ask(BEGUN, last)
        fenced = campaign.fenced()
    kills = campaign.killed.total()
    print("killed: " + ", ".join(f"{n} at {place}" for place, n in campaign.killed.most_common()))
    print(f"{again} periods took several attempts, at most {most}; {fenced} late attempts were refused at their commit")
    print(f"{begun} periods were begun until the last kill: {failed} failed for good, {left} are still open")
    print(f"{time.monotonic() - began:.0f} s")
    good = rows == together and not (rows_alone or successes_alone or left)
    print(
        f"{'PASS' if good else 'FAIL'}: {kills} kills, {rows} rows written, {together} periods executed in the same"
        f" transactions, {rows_alone} rows without a period, {successes_alone} periods without a row"
    )
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
