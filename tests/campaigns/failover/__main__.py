"""The leader of a PostgreSQL under Patroni is killed while real workers work on it: `make failover`.

    python -m tests.campaigns.failover [--kills 3] [--schedules 600] [--seed N] [--only synchronous|asynchronous]

With synchronous replication nothing may be lost: afterwards the ledger and the receiver's log alone must tell what
became of every period. With asynchronous replication the standby is two seconds behind when its leader dies: what
that costs is measured and printed.
"""

import argparse
import asyncio
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from tests.campaigns.chaos.__main__ import disturb, load, report, resume, say, watch
from tests.campaigns.chaos.faults import WORKERS, Fleet
from tests.campaigns.chaos.findings import examine
from tests.campaigns.chaos.schedules import names
from tests.campaigns.failover.losses import losses, pauses
from tests.campaigns.failover.pair import Pair, available
from tests.postgres import free_port

BEHIND = 2.0  # seconds by which an asynchronous standby is behind
QUIET = 8.0  # seconds between what has healed and the next kill


class Crew(Fleet):
    """Workers that know both servers, and find out by themselves which of them takes writes."""

    async def open(self):
        for n in range(WORKERS):
            self.start(n)

    def url(self, n):
        return self.server.url(self.database)


@dataclass
class Deaths:
    """What was done, and when, as the examination wants to know it."""

    count: Counter = field(default_factory=Counter)
    at: list = field(default_factory=list)


async def kill(pair, deaths):
    """Kill the leader, wait for the other to lead, and let the dead one follow."""
    name = pair.leader()
    if not pair.synchronous:
        pair.roads[name].block("back")
        await asyncio.sleep(BEHIND)
    deaths.at.append((time.time(), "kill -9 of the leader"))
    deaths.count["kill -9 of the leader"] += 1
    pair.kill(name)
    took = await pair.until(lambda: pair.leader() not in (None, name))
    pair.roads[name].block()
    pair.start(name)
    back = await pair.until(pair.whole)
    say(f"{name} killed; another leads after {took:.1f} s; {name} follows again {back:.1f} s later")


async def play(given, pair, folder):
    """All of it, with one kind of replication; what was found, and what it cost."""
    known, port, log = names(given.schedules), free_port(), folder / "received"
    log.touch()
    url, deaths, snapshots = pair.url("kron"), Deaths(), {}
    words = ["-m", "tests.campaigns.chaos.receiver", str(port), url, str(log), str(given.seed)]
    receiver = subprocess.Popen([sys.executable, *words])
    crew = Crew(pair, "kron", port, folder, "tests.campaigns.chaos.life")
    try:
        async with open_store(url) as store:
            registrar = Registrar(store)
            await load(registrar, known, 1)
            await crew.open()
            chance = random.Random(given.seed)
            beside = [
                asyncio.create_task(disturb(registrar, chance, known, 1, deaths.count)),
                asyncio.create_task(watch(pair, "kron", snapshots)),
            ]
            for _ in range(given.kills):
                await asyncio.sleep(QUIET)
                await kill(pair, deaths)
            await asyncio.sleep(QUIET)
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await resume(registrar, known)
            calm = int(time.time() * 1000)
            say(f"calm for {given.calm} s")
            await asyncio.sleep(given.calm)
            await crew.stop()
            found = await examine(store, pair, "kron", log, snapshots, calm, deaths.at, say)
    finally:
        await crew.close()
        receiver.kill()
        receiver.wait()
    return found, deaths


async def trial(given, folder, *, synchronous):
    """One kind of replication, from its cluster to its verdict."""
    kind = "synchronous" if synchronous else "asynchronous"
    say(f"== {kind} replication: {given.schedules} schedules, {given.kills} kills")
    pair = Pair(synchronous=synchronous)
    try:
        await pair.open()
        found, deaths = await play(given, pair, folder)
        for n, (record, arrival) in enumerate(pauses(pair, folder / "received", [at for at, _ in deaths.at]), 1):
            say(f"failover {n}: ticks are recorded again after {_seconds(record)}, received after {_seconds(arrival)}")
        if not synchronous:
            for what, count in losses(pair, folder / "received").items():
                say(f"{count:8d}  {what}")
            twice = [each for each in found.doubled if not str(each[-1]).startswith("sent")]
            say(
                f"MEASURED: {kind}, the standby {BEHIND:g} s behind: {found.periods} periods, {len(twice)} recorded "
                f"twice, {len(found.lost)} executed and not received, {len(found.changed)} changed outcomes; "
                f"seed {given.seed}"
            )
            return True
        report(found, deaths, folder / "log", given.seed)
        return found.good and deaths.count["kill -9 of the leader"] == given.kills
    finally:
        await pair.close()


def _seconds(value):
    return "never" if value is None else f"{value:.1f} s"


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--schedules", type=int, default=600, help="each with a period in every minute")
    parser.add_argument("--calm", type=int, default=60, help="seconds without faults at the end")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--only", choices=("synchronous", "asynchronous"), help="one kind of replication alone")
    given = parser.parse_args(args)
    if not available():
        say("FAIL: this needs patroni, etcd and the programs of a PostgreSQL server")
        return 2
    good = True
    for kind in ("asynchronous", "synchronous"):  # the one with a verdict is the last
        if given.only in (None, kind):
            folder = Path(tempfile.mkdtemp(prefix="kron-failover-"))
            fine = asyncio.run(trial(given, folder, synchronous=kind == "synchronous"))
            good = good and fine
            if fine:
                shutil.rmtree(folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
