"""The protocol of the cron-service document and ours under the same chaos, a minute each: `make chaos-reference`."""

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from kron import parse
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.schedule.policy import MILLISECOND, SECOND, SERVICE, Catchup, FirstPeriod, Overlap
from tests.campaigns.chaos.document import TABLES
from tests.campaigns.chaos.faults import Chaos, Fleet
from tests.postgres import free_port, running

NAMES = [f"s{n:02d}" for n in range(20)]
TEXT = "* * * * * *"
SECONDS = 60
POLICY = replace(
    SERVICE,
    overlap=Overlap.ALLOW,
    catchup=Catchup.ALL,
    run_lease=20 * SECOND,
    launch_backoff=300 * MILLISECOND,
    first_period=FirstPeriod.AFTER,
)
LEDGER = {
    "document": "SELECT idempotency_key, CASE status WHEN 'ENQUEUED' THEN 'executed' ELSE lower(status) END, false"
    " FROM doc_runs",
    "kron": "SELECT encode(idempotency_key, 'hex'), outcome, open FROM runs",
}


async def prepare(protocol, server, database):
    if protocol == "document":
        server.sql(TABLES, database)
        for name in NAMES:
            insert = "INSERT INTO doc_schedules VALUES (%s, %s, %s, 'allow')"
            server.sql(insert, database, name, TEXT, int(time.time()) + 1)
        return
    async with open_store(server.url(database)) as store:
        for name in NAMES:
            schedule = replace(parse(TEXT, dialect="service"), policy=POLICY)
            await Registrar(store).upsert(Job(name, schedule, target="post:/"))


async def play(protocol, server, database, seed):
    """A minute of faults and half a one of calm; what came of the ticks of the first."""
    folder, port = Path(tempfile.mkdtemp(prefix="kron-compare-")), free_port()
    log = folder / "received"
    log.touch()
    receiver = subprocess.Popen(
        [sys.executable, "-m", "tests.campaigns.chaos.receiver", str(port), server.url(database), str(log), str(seed)]
    )
    life = "tests.campaigns.chaos." + {"document": "document", "kron": "life"}[protocol]
    fleet = Fleet(server, database, port, folder, life)
    chaos = Chaos(fleet, random.Random(seed), 5)
    try:
        await prepare(protocol, server, database)
        await fleet.open()
        await asyncio.sleep(4)
        began = int(time.time())
        faults = asyncio.create_task(chaos.run())
        await asyncio.sleep(SECONDS)
        faults.cancel()
        await asyncio.gather(faults, return_exceptions=True)
        await fleet.recover()
        await asyncio.sleep(30)
        await fleet.stop()
    finally:
        await fleet.close()
        receiver.kill()
        receiver.wait()
    return _count(protocol, server, database, log, began), chaos


def _count(protocol, server, database, log, began):
    ledger = {key: (outcome, is_open) for key, outcome, is_open in server.sql(LEDGER[protocol], database)}
    received = Counter(json.loads(text)[0] for text in log.read_text(encoding="utf-8").splitlines())
    found = Counter()
    for name in NAMES:
        for nominal in range(began, began + SECONDS):
            key = key_of(name, nominal)
            outcome, is_open = ledger.get(key, ("no record", False))
            found["ticks"] += 1
            found["executed and received"] += outcome == "executed" and received[key] > 0
            found["lost without a trace"] += outcome == "no record" and not received[key]
            found["received without a record"] += outcome == "no record" and received[key] > 0
            found["recorded as failed, and received"] += outcome == "failed" and received[key] > 0
            found["recorded as failed or missed"] += outcome in ("failed", "missed", "skipped") and not received[key]
            found["still open"] += bool(is_open)
    return found


def main():
    seed = int(sys.argv[1]) if sys.argv[1:] else random.randrange(1 << 30)
    found = {}
    with running({"shared_buffers": "256MB"}) as server:
        for protocol in ("document", "kron"):
            found[protocol], chaos = asyncio.run(play(protocol, server, server.database(), seed))
            print(f"{protocol}: {dict(chaos.count)}", flush=True)
    print(f"{'':36}{'document':>10}{'Kron':>10}")
    for what in found["kron"]:
        print(f"{what:36}{found['document'][what]:>10}{found['kron'][what]:>10}")
    wrong = ("lost without a trace", "received without a record", "recorded as failed, and received", "still open")
    ours = sum(found["kron"][what] for what in wrong)
    theirs = sum(found["document"][what] for what in wrong)
    print(f"{'FAIL' if ours else 'PASS'}: wrong or lost: {theirs} by the document, {ours} by Kron; seed {seed}")
    return 1 if ours else 0


if __name__ == "__main__":
    sys.exit(main())
