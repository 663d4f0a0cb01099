"""One of several processes that work on one store at once: `python -m tests.stores.hammer URL NAME SEED STEPS LOG`.

It plans, answers, pauses, edits and triggers as fast as it can, by a clock of its own that runs a minute a step, and
writes down, a line of JSON each, what the store said that it had written.
"""

import asyncio
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

from kron import KronError, parse
from kron.engine.clock import ManualClock
from kron.engine.registrar import Registrar
from kron.rules.launch_result import LaunchResult, Report, answered
from kron.rules.plan import plan
from kron.rules.update import RunUpdate, update_of
from kron.stores.postgres import PostgresStore
from kron.stores.sqlite import SqliteStore
from kron.timing.job import Job
from kron.timing.schedule.policy import SECOND, SERVICE, Catchup, Overlap
from tests.stores.making import ALL, SECONDS

NAMES = [f"s{n}" for n in range(8)]
OVERLAPS = list(Overlap)


def a_job(name, text="*/30 * * * * *"):
    overlap = OVERLAPS[NAMES.index(name) % len(OVERLAPS)]
    policy = replace(SERVICE, overlap=overlap, catchup=Catchup.ALL, run_lease=200 * SECOND, queue_limit=5)
    return Job(name, replace(parse(text, dialect="service"), policy=policy), target="test:it")


class Witness:
    """A store, with a note of all that it said it had written."""

    def __init__(self, store):
        self.store, self.told = store, []

    def __getattr__(self, name):
        return getattr(self.store, name)

    async def commit(self, settlements, now):
        answers = await self.store.commit(settlements, now)
        for made, held in zip(settlements, answers, strict=True):
            if held:
                cursor = made.before.cursor if made.before else None
                keys = [run.key for run in made.new]
                self.told.append(["settled", made.after.identity, cursor, made.after.cursor, keys])
        return answers

    async def update_runs(self, changes, now):
        answers = await self.store.update_runs(changes, now)
        for made, held in zip(changes, answers, strict=True):
            if held:
                self.told.append(["changed", made.before.key, *made.before.token, made.after.state])
        return answers


class Hammer:
    """One process."""

    def __init__(self, store, clock, name, seed):
        self.store, self.clock, self.name = Witness(store), clock, name
        self.chance = random.Random(seed)
        self.registrar = Registrar(self.store)

    async def work(self, steps):
        for name in NAMES:
            await self.registrar.upsert(a_job(name))
        for _ in range(steps):
            self.clock.advance(self.chance.choice([1, 5, 30, 60]))
            await asyncio.gather(self.tick(), self.disturb(), self.tick())

    async def tick(self):
        now = await self.store.now()
        cases = await self.store.fetch_due(ALL, now, 20)
        plans = [plan(case, now, owner=self.name, lease=20_000) for case in cases]
        await asyncio.sleep(self.chance.random() / 200)  # let others in
        won = await self.store.commit([update_of(made) for made in plans], now)
        for made, held in zip(plans, won, strict=True):
            for run in made.launches if held else ():
                await self.answer(made.state, run)

    async def answer(self, case, run):
        after = answered(run, self.chance.choice(list(LaunchResult)), case.policy, await self.store.now())
        wake = after.not_before if after.lease is None else after.lease
        await self.store.update_runs([RunUpdate(run, after, wake)], run.changed)

    async def disturb(self):
        name, chance = self.chance.choice(NAMES), self.chance.random()
        try:
            if chance < 0.2:
                later = int(self.clock.now() * 1000) + self.chance.choice([1_000, 60_000])
                await self.registrar.pause(name, until=self.chance.choice([None, later]))
            elif chance < 0.5:
                await self.registrar.resume(name)
            elif chance < 0.6:
                await self.registrar.upsert(a_job(name, self.chance.choice(["*/30 * * * * *", "0 * * * * *"])))
            elif chance < 0.7:
                await self.registrar.trigger(name, f"request {self.chance.randrange(50)}")
            else:
                for run in await self.store.runs(name, 3):
                    await self.registrar.report(run.key, self.chance.choice(list(Report)))
        except KronError as error:
            if error.code not in ("CONTENDED", "PAST"):  # the others move the clock
                raise


def the_store(url, clock):
    scheme, _, path = url.partition(":")
    if scheme == "sqlite":
        return SqliteStore(path, clock, patience=60)
    return PostgresStore(url, clock, deadline=60)


async def main(url, name, seed, steps, log):
    clock = ManualClock(float(SECONDS))
    store = the_store(url, clock)
    hammer = Hammer(store, clock, name, seed)
    await hammer.work(steps)
    await store.close()
    Path(log).write_text("".join(json.dumps(what) + "\n" for what in hammer.store.told), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
