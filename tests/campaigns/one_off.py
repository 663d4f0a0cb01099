"""One-off jobs with payloads, created by the bulk route and due within an hour: `make one-off`.

    python -m tests.campaigns.one_off [--jobs 1000000] [--minutes 60]

An API process and two workers as in compose.yaml, on a real PostgreSQL that syncs every commit. Each job is
`at <moment>` with a payload of 500 bytes and a webhook target. Before Kron creates its jobs, the same rows are inserted
into a bare table with a primary key and an index of the due time, in batches of the same size: creation rate and size
per job are shown next to it. Each job must arrive once, under its key, and be recorded as executed.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from kron.timing.key import key_of
from tests.campaigns.burst import Arrivals
from tests.campaigns.service_kills import Fleet, database_with_roles
from tests.campaigns.soak.__main__ import SETTINGS, say
from tests.docs.page import ROOT
from tests.postgres import connect, free_port, running
from tests.service.http import NDJSON, Service, until
from tests.service.test_config import ready
from tests.service.tokens import token

PAYLOAD_BYTES = 500
BATCH = 500  # jobs of one transaction, as in the bulk route
PART = 5_000  # jobs of one request
SENDERS = 2  # requests at once
PROBE_JOBS = 2 * PART  # created first, to measure how long all of them take
MARGIN = 1.5  # times as long as expected may pass until all are created
EVERY_SECONDS = 30  # between two lines of progress
WORKERS = ("worker0", "worker1")
BARE_TABLE = """
CREATE TABLE bare_jobs (id text PRIMARY KEY, due timestamptz NOT NULL, target text NOT NULL, payload jsonb NOT NULL);
CREATE INDEX ON bare_jobs (due)
"""
BARE_INSERT = """
INSERT INTO bare_jobs SELECT * FROM unnest(%s::text[], %s::timestamptz[], %s::text[], %s::jsonb[])
"""
SIZE = """
SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind = 'r' AND nspname = 'kron'
"""
LEDGER = "SELECT encode(idempotency_key, 'hex'), status, outcome FROM runs"


class Jobs:
    """Jobs that are due one after the other within some minutes."""

    def __init__(self, count, start, minutes, port):
        self.count, self.start, self.seconds, self.port = count, start, int(minutes * 60), port

    def due(self, n):
        """The second at which the nth job is due."""
        return self.start + n * self.seconds // self.count

    def name(self, n):
        return f"j{n:07d}"

    def line(self, n):
        moment = datetime.fromtimestamp(self.due(n), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "id": self.name(n),
            "schedule": f"at {moment}",
            "dialect": "plus",
            "target": f"http://127.0.0.1:{self.port}/hook",
            "payload": self.payload(n),
        }

    def payload(self, n):
        return {"customer": n, "text": "x" * (PAYLOAD_BYTES - len(json.dumps({"customer": n, "text": ""})))}

    def keys(self):
        """When each is due, by the key of its run."""
        return {key_of(f"t/{self.name(n)}", self.due(n)): self.due(n) for n in range(self.count)}


def bare(server, database, jobs):
    """Insert the rows into a bare table. Jobs per second, and bytes per job."""
    with connect(server.url(database), autocommit=True) as connection:
        connection.execute(BARE_TABLE)
        began = time.monotonic()
        for first in range(0, jobs.count, BATCH):
            numbers = range(first, min(first + BATCH, jobs.count))
            columns = (
                [jobs.name(n) for n in numbers],
                [datetime.fromtimestamp(jobs.due(n), UTC) for n in numbers],
                [f"http://127.0.0.1:{jobs.port}/hook" for _ in numbers],
                [json.dumps(jobs.payload(n)) for n in numbers],
            )
            connection.execute(BARE_INSERT, columns)
        rate = jobs.count / (time.monotonic() - began)
        (size,) = connection.execute("SELECT pg_total_relation_size('bare_jobs')").fetchone()
        connection.execute("DROP TABLE bare_jobs")
    return rate, size / jobs.count


def create(port, jobs, numbers):
    """Create jobs by one request of the bulk route."""
    body = "\n".join(json.dumps(jobs.line(n)) for n in numbers).encode()
    reply = Service(port, None, token("t")).post("/v1/schedules:bulk", body, **NDJSON)
    assert [line["status"] for line in reply.lines] == [200] * len(numbers), reply.lines[:1]


async def create_all(port, jobs):
    """Create all jobs. Jobs per second."""
    parts = iter([range(first, min(first + PART, jobs.count)) for first in range(0, jobs.count, PART)])
    began, done, told = time.monotonic(), Counter(), [time.monotonic()]

    async def sender():
        for numbers in parts:
            await asyncio.to_thread(create, port, jobs, numbers)
            done["jobs"] += len(numbers)
            if time.monotonic() > told[0] + EVERY_SECONDS:
                told[0] = time.monotonic()
                say(f"{done['jobs']:,} created, {done['jobs'] / (told[0] - began):,.0f}/s")

    await asyncio.gather(*(sender() for _ in range(SENDERS)))
    return jobs.count / (time.monotonic() - began)


def measured_rate(port, target):
    """Jobs per second that the service creates: some that are due much later."""
    probe = Jobs(PROBE_JOBS, int(time.time()) + 86_400 * 30, 60, target)
    probe.name = lambda n: f"probe{n:07d}"
    return asyncio.run(create_all(port, probe))


def watch(jobs, arrivals, minutes):
    """Wait until every job has arrived, at most so many minutes after the last one was due."""
    last = jobs.due(jobs.count - 1)
    while len(arrivals.read().first) < jobs.count and time.time() < last + minutes * 60:
        time.sleep(EVERY_SECONDS if time.time() < last - EVERY_SECONDS else 1)
        say(f"{len(arrivals.first):,} of {jobs.count:,} arrived")


def judge(jobs, arrivals, rows):
    """What is wrong, and the lateness of each job, sorted."""
    keys, wrong = jobs.keys(), Counter()
    recorded = {key: (status, outcome) for key, status, outcome in rows}
    wrong["recorded more than once"] += len(rows) - len(recorded)
    for key in keys:
        wrong["not recorded as executed"] += recorded.get(key) != ("success", "executed")
        wrong["not arrived"] += key not in arrivals.first
        wrong["arrived more than once"] += arrivals.count[key] > 1
    wrong["arrived under another key"] += len(arrivals.first.keys() - keys.keys())
    return +wrong, sorted(at - keys[key] for key, at in arrivals.first.items() if key in keys)


def campaign(server, folder, given):
    """The whole campaign. Whether every job ran once."""
    database, log = asyncio.run(database_with_roles(server)), folder / "received"
    ports = free_port(), free_port()
    log.touch()
    fleet = Fleet(server, database, folder, {"max_schedules_per_tenant": 10_000_000})
    fleet.ports = {name: fleet.ports[name] for name in ("api0", *WORKERS)}
    with ExitStack() as stack:
        stack.callback(fleet.close)
        command = [sys.executable, "-m", "tests.campaigns.burst_receiver", *map(str, (*ports, log, 0.0))]
        receiver = subprocess.Popen(command, cwd=ROOT)
        stack.callback(receiver.wait)
        stack.callback(receiver.terminate)
        for name in fleet.ports:
            fleet.start(name)
        for port in fleet.ports.values():
            until(lambda port=port: ready(Service(port, None)), 60)
        api = fleet.ports["api0"]
        seconds = given.jobs / measured_rate(api, ports[0]) * MARGIN
        bare_rate, bare_size = bare(server, database, Jobs(given.jobs, int(time.time()), 60, ports[0]))
        say(f"bare table: {bare_rate:,.0f} jobs/s, {bare_size:,.0f} bytes per job")
        before = size_of(server, database)
        jobs = Jobs(given.jobs, int(time.time() + seconds) + 10, given.minutes, ports[0])
        rate = asyncio.run(create_all(api, jobs))
        size = (size_of(server, database) - before) / jobs.count
        say(f"Kron: {rate:,.0f} jobs/s ({rate / bare_rate:.2f} x bare), {size:,.0f} bytes ({size / bare_size:.1f} x)")
        if time.time() > jobs.start:
            raise SystemExit("the first job was due before all jobs were created: the machine has too much to do")
        arrivals = Arrivals(log)
        watch(jobs, arrivals, 5)
        until(lambda: server.sql("SELECT count(*) FROM runs WHERE open", database)[0][0] == 0, 120)
    wrong, lateness = judge(jobs, arrivals.read(), server.sql(LEDGER, database))
    return verdict(jobs, wrong, lateness)


def size_of(server, database):
    """Bytes of all tables with their indexes."""
    return server.sql(SIZE, database)[0][0]


def verdict(jobs, wrong, lateness):
    p50, p99 = (lateness[int(len(lateness) * share)] if lateness else float("nan") for share in (0.5, 0.99))
    say(f"lateness p50 {p50:.2f} s, p99 {p99:.2f} s, max {max(lateness, default=float('nan')):.2f} s")
    words = ", ".join(f"{count} {name}" for name, count in wrong.items()) or "each arrived once and is recorded"
    found = "FAIL" if wrong else "PASS"
    say(f"{found}: {jobs.count:,} one-off jobs due within {jobs.seconds / 60:g} minutes; {words}")
    return not wrong


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=60, help="within which all of them are due")
    parser.add_argument("--folder", default="/var/tmp", help="where the database has its files")
    given = parser.parse_args(args)
    folder = Path(tempfile.mkdtemp(prefix="kron-one-off-"))
    with running(SETTINGS, folder=given.folder) as server:
        good = campaign(server, folder, given)
    if good:
        shutil.rmtree(folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
