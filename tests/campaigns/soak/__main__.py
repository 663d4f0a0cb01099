"""A steady load for long, autovacuum as it is set by default: does anything grow that should not? `make soak`

    python -m tests.campaigns.soak [--minutes 30] [--rate 100] [--picture docs/pictures/soak.svg]

Two real workers; every ten seconds the sizes, the dead rows and how late runs ended. In the end every period is
accounted for.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from kron import parse
from kron.apps.wiring import open_store
from kron.engine.audit import audit
from kron.engine.registrar import Registrar
from kron.rules.pause import Actor
from kron.stores.postgres.maintain import maintain
from kron.timing.job import Job
from kron.timing.schedule.policy import SECOND, SERVICE
from tests import spent
from tests.campaigns.soak.picture import picture
from tests.campaigns.soak.sampling import sample
from tests.campaigns.soak.verdict import judged
from tests.postgres import running

WORKERS = 2
DONE = 8  # seconds after which a run that fell due has ended
SETTINGS = {"shared_buffers": "256MB", "max_connections": "50"}  # the rest is PostgreSQL's own, durability too


def say(text):
    print(text, flush=True)


async def define(url, rate):
    """As many schedules as it takes, each due at a second of its own in every minute."""
    policy = replace(SERVICE, run_lease=60 * SECOND)
    async with open_store(url) as store:
        for first in range(0, rate * 60, 1_000):
            jobs = [
                Job(
                    f"soak/{n:06d}",
                    replace(parse(f"{n % 60} * * * * *", dialect="service"), policy=policy),
                    target="python:pass",
                )
                for n in range(first, min(first + 1_000, rate * 60))
            ]
            await Registrar(store).upsert_all([(job, Actor("soak")) for job in jobs])


async def accounted(url):
    """How many periods there were, and those that nobody can explain or that were recorded twice."""
    periods, wrong = 0, []
    async with open_store(url) as store:
        async for account in audit(store):
            periods += account.periods
            wrong += [(account.identity, nominal) for nominal in (*account.unexplained, *account.twice)]
    return periods, wrong


def watch(server, database, minutes, every):
    """The samples of all that time."""
    began, samples, since = time.time(), [], time.time()
    while time.time() - began < minutes * 60:
        time.sleep(max(0.0, began + (len(samples) + 1) * every - time.time()))
        upto = time.time() - DONE
        samples.append(sample(server, database, time.time() - began, since, upto))
        since = max(upto, since)
        s = samples[-1]
        if len(samples) % max(1, round(60 / every)) == 0:
            say(
                f"{s.at / 60:5.1f} min  due {s.table / 1e6:.1f} + {s.indexes / 1e6:.1f} MB, {s.dead} dead, "
                f"{s.vacuums} vacuums, ledger {s.ledger / 1e6:.0f} MB, {s.ended} ended, "
                f"p50 {s.p50:.0f} p99 {s.p99:.0f} ms"
            )
    return [s for s in samples if s.ended]


def soak(given, server, database):
    url = server.url(database)
    asyncio.run(maintain(url))
    asyncio.run(define(url, given.rate))
    say(f"{given.rate * 60} schedules, {given.rate} due in every second, {given.minutes:g} minutes")
    command = [Path(sys.executable).with_name("kron"), "worker", "--store", url]
    workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(WORKERS)]
    pids = [worker.pid for worker in workers]
    theirs, ours = spent.of_server(server), spent.of(pids)
    try:
        samples = watch(server, database, given.minutes, given.every)
        used = spent.between(theirs, spent.of_server(server)), spent.between(ours, spent.of(pids))
        dead = [worker.returncode for worker in workers if worker.poll() is not None]
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
    return samples, used, dead, asyncio.run(accounted(url))


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=100, help="runs that fall due in a second")
    parser.add_argument("--every", type=float, default=10, help="seconds between two samples")
    parser.add_argument("--folder", default="/tmp", help="where the database has its files")
    parser.add_argument("--picture", metavar="FILE", help="an SVG of the samples")
    given = parser.parse_args(args)
    with running(SETTINGS, folder=given.folder) as server:
        samples, used, dead, (periods, wrong) = soak(given, server, server.database())
    if given.picture:
        path = Path(given.picture)
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture(samples, f"{given.rate} runs a second for {given.minutes:g} minutes"), encoding="utf-8")
    compared = judged(samples)
    for name, before, after, flat in compared:
        say(f"{'flat' if flat else 'GROWS':6} {name:28} {before:14,.0f} -> {after:14,.0f}")
    ended = sum(s.ended for s in samples)
    server_us, worker_us = (seconds / max(1, ended) * 1e6 for seconds in used)
    say(f"a run from due to done takes {server_us:.0f} us of CPU of the server and {worker_us:.0f} us of the workers")
    flat = all(fine for *_, fine in compared)
    good = flat and not dead and not wrong
    say(
        f"{'PASS' if good else 'FAIL'}: {'flat' if flat else 'not flat'}, {ended:,} runs ended, {periods:,} periods, "
        f"{len(wrong)} unexplained or twice, {len(dead)} workers died"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
