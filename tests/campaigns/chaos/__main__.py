"""Real workers on a real PostgreSQL, while everything goes wrong that may: `make chaos`.

    python -m tests.campaigns.chaos [--minutes 30] [--schedules 20000] [--every 5] [--seed N]

Workers are killed, stopped and let go on, cut off one way or both, and their clock is set; the database crashes, its
backends are terminated; the receiver is slow, full or hangs up; schedules are edited, paused and triggered. Afterwards
the ledger and the receiver's log alone must tell what became of every period.
"""

import argparse
import asyncio
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kron import KronError
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.rules.pause import NO_ACTOR
from tests.campaigns.chaos.faults import Chaos, Fleet
from tests.campaigns.chaos.findings import examine
from tests.campaigns.chaos.schedules import job_of, names
from tests.postgres import free_port, running

SETTINGS = {"shared_buffers": "512MB", "max_connections": "100", "max_wal_size": "2GB"}
SNAPSHOT = "SELECT encode(idempotency_key, 'hex'), status, outcome, reason FROM runs WHERE NOT open"


def say(text):
    print(text, flush=True)


async def disturb(registrar, chance, known, every, count):
    """What users do meanwhile."""
    while True:
        await asyncio.sleep(chance.random() * 0.4)
        name, deed = chance.choice(known), chance.randrange(8)
        try:
            if deed == 0:
                await registrar.pause(name)
            elif deed == 1:
                await registrar.trigger(name, f"request {chance.randrange(1 << 30)}")
            elif deed == 2:
                await registrar.upsert(job_of(name, every, chance.randrange(1 << 30)))
            else:
                await registrar.resume(name)
            count["edits, pauses, triggers"] += 1
        except KronError:
            await asyncio.sleep(0.5)  # the database is down, or somebody else was faster


async def watch(server, database, snapshots):
    """Remember how runs ended: they must not end in another way later."""
    while True:
        await asyncio.sleep(20)
        try:
            rows = await asyncio.get_running_loop().run_in_executor(None, server.sql, SNAPSHOT, database)
        except Exception:
            continue
        for key, *end in rows:
            snapshots.setdefault(key, tuple(end))


async def load(registrar, known, every):
    began = time.monotonic()
    for start in range(0, len(known), 200):
        await registrar.upsert_all([(job_of(name, every), NO_ACTOR) for name in known[start : start + 200]])
        if start % 4000 == 3800:
            say(f"{start + 200} schedules, {time.monotonic() - began:.0f} s")


async def campaign(given, server, database, folder, life="tests.campaigns.chaos.life"):
    """All of it; what was found, what went wrong on purpose, and the receiver's port is let go."""
    chance, known, port = random.Random(given.seed), names(given.schedules), free_port()
    log, url = folder / "received", server.url(database)
    log.touch()
    receiver = subprocess.Popen(
        [sys.executable, "-m", "tests.campaigns.chaos.receiver", str(port), url, str(log), str(given.seed)]
    )
    fleet = Fleet(server, database, port, folder, life)
    chaos, snapshots = Chaos(fleet, chance, given.pace), {}
    try:
        async with open_store(url) as store:
            registrar = Registrar(store)
            await fleet.open()  # before there is a schedule: from the first period on, a worker lives
            await load(registrar, known, given.every)
            say(f"{given.schedules} schedules, {given.minutes:g} minutes")
            beside = [
                asyncio.create_task(chaos.run()),
                asyncio.create_task(disturb(registrar, random.Random(given.seed + 1), known, given.every, chaos.count)),
                asyncio.create_task(watch(server, database, snapshots)),
            ]
            end = time.monotonic() + given.minutes * 60
            while time.monotonic() < end:
                await asyncio.sleep(min(30, max(0.1, end - time.monotonic())))
                say(f"{sum(chaos.count.values())} faults, {chaos.count['kill -9 of a worker']} kills")
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await fleet.recover()
            await resume(registrar, known)
            calm = int(time.time() * 1000)
            say(f"calm for {given.calm} s")
            await asyncio.sleep(given.calm)
            await fleet.stop()
            found = await examine(store, server, database, log, snapshots, calm, chaos.at, say)
    finally:
        await fleet.close()
        receiver.kill()
        receiver.wait()
    return found, chaos, (folder / "log")


async def resume(registrar, known):
    """Nothing is paused any more."""
    for start in range(0, len(known), 20):
        await asyncio.gather(*(_resumed(registrar, name) for name in known[start : start + 20]))


async def _resumed(registrar, name):
    for _ in range(20):
        try:
            await registrar.resume(name)
            return
        except KronError:
            await asyncio.sleep(0.5)


def report(found, chaos, log, seed):
    for what, count in sorted(chaos.count.items()):
        say(f"{count:8d}  {what}")
    for outcome, count in sorted(found.outcomes.items()):
        say(f"{count:8d}  {outcome}")
    say(f"{found.again:8d}  sent again under the same key")
    fenced = log.read_text(encoding="utf-8").count('"launch_fenced"') if log.exists() else 0
    say(f"{fenced:8d}  answers of fenced workers refused")
    late = sorted(found.lateness) or [0]
    say(f"lateness: p50 {statistics.median(late) / 1000:.2f} s, p99 {late[len(late) * 99 // 100] / 1000:.1f} s")
    for cause, count in found.late.most_common():
        say(f"{count:8d}  recorded more than 2 s late after: {cause}")
    say(f"{len(found.doubt):8d}  launched at most once by a worker that was killed, and never received")
    for kind in ("lost", "missed", "doubled", "unexplained", "changed"):
        for each in getattr(found, kind)[:10]:
            say(f"{kind}: {each}")
    say(
        f"{'PASS' if found.good else 'FAIL'}: {sum(chaos.count.values())} faults, {found.periods} periods, "
        f"{len(found.lost)} lost, {len(found.missed)} missed, {len(found.doubled)} recorded or sent twice, "
        f"{len(found.unexplained)} unexplained, "
        f"{len(found.changed)} changed outcomes; {found.arrivals} keys received; seed {seed}"
    )


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--schedules", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=5, help="minutes between two periods of a schedule")
    parser.add_argument("--pace", type=float, default=1, help="how many times more faults a minute")
    parser.add_argument("--calm", type=int, default=60, help="seconds without faults at the end")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    given = parser.parse_args(args)
    folder = Path(tempfile.mkdtemp(prefix="kron-chaos-"))
    with running(SETTINGS) as server:
        found, chaos, log = asyncio.run(campaign(given, server, server.database(), folder))
        report(found, chaos, log, given.seed)
    if found.good:
        shutil.rmtree(folder)
    return 0 if found.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
