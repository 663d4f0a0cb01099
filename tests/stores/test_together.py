"""Many at once: tasks of one process on every store, and processes on one file."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from kron.engine.clock import ManualClock
from kron.rules.plan import plan
from kron.rules.update import update_of
from kron.stores.sqlite import SqliteStore
from kron.timing.schedule.policy import Overlap
from tests.stores.hammer import NAMES, Hammer
from tests.stores.making import MANY, SECONDS, Handle, a_case, define

STEPS = int(os.environ.get("KRON_STEPS", "40"))


def check(store, told):
    """From what the store shows, and from what everyone was told: nothing twice, nothing half, nothing back."""
    ledger = {run.key: run for name in NAMES for run in store.runs(name, MANY)}
    written = Counter(key for what in told if what[0] == "settled" for key in what[4])
    assert written == dict.fromkeys(ledger, 1)  # what was refused left nothing, what was written is there, once
    spoken = Counter(tuple(what[1:5]) for what in told if what[0] == "changed" and what[2] != what[5])
    assert set(spoken.values()) <= {1}  # of one attempt in one state, one word counts
    for name in NAMES:
        check_cursor(store, name, [what[2:4] for what in told if what[0] == "settled" and what[1] == name])
        check_runs(store, name)


def check_cursor(store, name, moves):
    """It was moved step by step, each from where the one before had left it."""
    (case,) = store.get([name])
    created, *steps = sorted((before or 0, after) for before, after in moves if before != after)
    for (_, reached), (start, _) in pairwise([created, *steps]):
        assert reached == start
    assert (steps or [created])[-1][1] == case.cursor


def check_runs(store, name):
    (case,) = store.get([name])
    assert len([run for run in case.open_runs if run.active]) <= 1 or case.policy.overlap is Overlap.ALLOW
    nominals = Counter(run.nominal for run in store.runs(name, MANY) if not run.trigger)
    assert set(nominals.values()) <= {1}
    assert not [n for n in nominals for gap in store.gaps(name) if gap.first <= n <= gap.last]


def test_many_tasks(store, clock, runner):
    hammers = [Hammer(store.store, clock, f"w{n}", n) for n in range(6)]

    async def all_at_once():
        await asyncio.gather(*(hammer.work(STEPS // 4) for hammer in hammers))

    runner.run(all_at_once())
    check(store, [what for hammer in hammers for what in hammer.store.told])


def test_one_of_many_who_want_the_same_gets_it(store, runner):
    """Everybody plans from the same page; each period is recorded by one of them, and no cursor moves twice."""
    for n in range(5):
        define(store, a_case(f"s{n}"))
    cases = store.get([f"s{n}" for n in range(5)])

    async def one(n):
        await asyncio.sleep(0)
        plans = [plan(case, (SECONDS + 60) * 1000, owner=f"w{n}", lease=1_000) for case in cases]
        return await store.store.commit([update_of(made) for made in plans], SECONDS * 1000)

    async def everybody():
        return await asyncio.gather(*(one(n) for n in range(40)))

    won = runner.run(everybody())
    assert [sum(column) for column in zip(*won, strict=True)] == [1] * 5
    assert all(len(store.runs(f"s{n}", MANY)) == 1 for n in range(5))


def hammered(url, folder, processes=3):
    """What everyone was told, after several processes have worked on one store."""
    command = [sys.executable, "-m", "tests.stores.hammer", url]
    started = [
        subprocess.Popen([*command, f"w{n}", str(n), str(STEPS), str(folder / f"w{n}")], stderr=subprocess.PIPE)
        for n in range(processes)
    ]
    assert [(process.communicate()[1].decode(), process.returncode) for process in started] == [("", 0)] * processes
    logs = [(folder / f"w{n}").read_text(encoding="utf-8") for n in range(processes)]
    assert all("changed" in log for log in logs)
    return [json.loads(line) for log in logs for line in log.splitlines()]


@pytest.mark.req("KSPEC-IDEM-ONE", "KSPEC-INV-2")
def test_many_processes_on_one_file(folder, runner):
    file = folder / "kron.db"
    told = hammered(f"sqlite:{file}", folder)
    store = Handle(runner, SqliteStore(file, ManualClock(float(SECONDS))))
    check(store, told)
    assert store.store.file.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


@pytest.mark.req("KSPEC-IDEM-ONE", "KSPEC-INV-2")
def test_many_processes_on_one_database(folder, database, postgres):
    check(postgres, hammered(database, folder))
