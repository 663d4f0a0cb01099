"""A worker after the pseudo-code of the cron-service document, step by step: launch, then insert, then advance.

    python -m tests.campaigns.chaos.document DATABASE-URL RECEIVER-PORT OWNER LOG

Its look-ahead is two seconds instead of sixty, to be kind: what it keeps in memory dies with it.
"""

import asyncio
import signal
import sys
import time

import psycopg

from kron import parse
from kron.engine.launcher import Launch
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.key import key_of
from kron.timing.period import next_nominal
from tests.campaigns.chaos.life import Post

TABLES = """
CREATE TABLE IF NOT EXISTS doc_schedules (schedule_id text PRIMARY KEY, cron text, next_run_at bigint, overlap text);
CREATE TABLE IF NOT EXISTS doc_runs (
    idempotency_key text PRIMARY KEY, schedule_id text, run_at bigint, status text, created_at bigint);
"""
LOOKAHEAD = 2


class Document:
    """One worker. `timers` are what it means to do."""

    def __init__(self, connection, launcher, owner):
        self.connection, self.launcher, self.owner = connection, launcher, owner
        self.timers = set()

    async def rows(self, query, *values):
        found = await self.connection.execute(query, values)
        return await found.fetchall() if found.description else []

    async def tick(self):
        ((leads,),) = await self.rows("SELECT pg_try_advisory_lock(1)")
        if not leads:
            return
        now = time.time()
        query = "SELECT schedule_id, cron, next_run_at, overlap FROM doc_schedules WHERE next_run_at <= %s"
        for name, cron, following, overlap in await self.rows(query, int(now + LOOKAHEAD)):
            schedule, times = parse(cron, dialect="service"), []
            t = following
            while t <= now + LOOKAHEAD:
                times.append(t)
                t = next_nominal(schedule, t)
            for run_at in [t for t in times if t >= int(now)]:  # catch-up: none
                await self.emit(name, run_at, overlap, now)
            last = max(int(now), *times, following)
            update = "UPDATE doc_schedules SET next_run_at = %s WHERE schedule_id = %s"
            await self.rows(update, next_nominal(schedule, last), name)

    async def emit(self, name, run_at, overlap, now):
        key = key_of(name, run_at)
        if await self.rows("SELECT 1 FROM doc_runs WHERE idempotency_key = %s", key):
            return
        if overlap != "allow":
            inflight = "SELECT 1 FROM doc_runs WHERE schedule_id = %s AND status IN ('ENQUEUED', 'STARTED')"
            if await self.rows(inflight, name):
                await self.insert(name, run_at, "SKIPPED", key)
                return
        task = asyncio.create_task(self.fire(name, run_at, key, max(0, run_at - now)))
        self.timers.add(task)
        task.add_done_callback(self.timers.discard)

    async def fire(self, name, run_at, key, wait):
        await asyncio.sleep(wait)
        run = Run(key, name, run_at, 1, run_at * 1000, State.LAUNCHING, attempt=1)
        status = "FAILED"
        for n in range(3):  # a few times with a small backoff
            try:
                launch = Launch(run, None, int(time.time() * 1000) + 60_000)
                answer = await asyncio.wait_for(self.launcher.start(launch), 3)
                if answer == "ok":
                    status = "ENQUEUED"
                    break
            except Exception:
                pass
            await asyncio.sleep(0.1 * 2**n)
        await self.insert(name, run_at, status, key)

    async def insert(self, name, run_at, status, key):
        try:
            insert = "INSERT INTO doc_runs VALUES (%s, %s, %s, %s, %s)"
            await self.rows(insert, key, name, run_at, status, int(time.time() * 1000))
        except psycopg.IntegrityError:
            pass


async def main(url, port, owner, log):
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    while not stop.is_set():
        try:
            connection = await psycopg.AsyncConnection.connect(
                url, autocommit=True, connect_timeout=3, options="-c statement_timeout=4s", tcp_user_timeout=3000
            )
            worker = Document(connection, Post(int(port)), owner)
            while not stop.is_set():
                await asyncio.wait_for(worker.tick(), 6)
                await asyncio.sleep(1)
        except (psycopg.Error, OSError, TimeoutError):
            await asyncio.sleep(0.5)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
