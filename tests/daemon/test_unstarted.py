"""Claims of a daemon that was killed: what was certainly not begun runs, and what may have run does not run again."""

import asyncio
import os
import socket

from kron.apps.daemon.installation import Installation
from kron.apps.host.tables import TableFolder
from kron.apps.wiring import open_store
from kron.engine.clock import SystemTimer
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.launchers.command.journal import Journal
from kron.rules.outcome import Reason
from kron.rules.run_state import State
from tests.daemon.krond import soon, until

OWNER = f"krond:{socket.gethostname()}"


class Hanging:
    """A launcher that is killed before it has begun anything."""

    is_local = True

    async def start(self, launch):
        await asyncio.Event().wait()

    async def cancel(self, run):
        raise AssertionError


async def claimed(krond, owner=OWNER):
    """The run that a worker of that name has claimed and not launched. Its claim lasts for 3 s."""
    async with open_store(f"sqlite:{krond.state}") as store, asyncio.timeout(60):
        (table,) = TableFolder(krond.tables, {os.geteuid()}).scan().tables.values()
        await Installation(Registrar(store)).install(table)
        settings = Settings(lease=3_000, shard_lease=0)
        worker = Worker(store, {"command": Hanging()}, SystemTimer(), owner=owner, settings=settings)
        task = asyncio.create_task(worker.run(asyncio.Event()))
        while not (runs := await store.runs(krond.identity("a"), 10)):
            await asyncio.sleep(0.05)
        task.cancel()
        (run,) = runs
        assert (run.state, run.owner) == (State.LAUNCHING, owner)
        return run


def prepared(krond, tmp_path):
    """The state of a daemon that has ended, and a table with a job of one run."""
    assert krond.run("--once").returncode == 0
    krond.write("table", krond.job("a", f"echo x >> {tmp_path}/out", soon()))


def ended(krond):
    return until(lambda: [run for run in krond.runs("a") if not run.open])[0]


def test_claim_that_was_not_begun_runs(krond, tmp_path):
    prepared(krond, tmp_path)
    asyncio.run(claimed(krond))
    krond.start()
    assert krond.events("krond_started")[-1]["released"] == 1
    run = ended(krond)
    assert (run.state, run.attempt, (tmp_path / "out").read_text()) == (State.SUCCESS, 2, "x\n")


def test_claim_that_was_begun_is_unknown_and_does_not_run(krond, tmp_path):
    prepared(krond, tmp_path)
    run = asyncio.run(claimed(krond))
    Journal(krond.state.parent / "journal").begin(run.key, 1)
    krond.start()
    assert krond.events("krond_started")[-1]["released"] == 0
    run = ended(krond)
    assert (run.state, run.reason, (tmp_path / "out").exists()) == (State.UNKNOWN, Reason.UNKNOWN, False)


def test_claim_of_another_worker_is_left_alone(krond, tmp_path):
    prepared(krond, tmp_path)
    asyncio.run(claimed(krond, "elsewhere"))
    krond.start()
    assert krond.events("krond_started")[-1]["released"] == 0
    assert (ended(krond).state, (tmp_path / "out").exists()) == (State.UNKNOWN, False)


def test_without_the_old_journal_nothing_is_released(krond, tmp_path):
    prepared(krond, tmp_path)
    asyncio.run(claimed(krond))
    (krond.state.parent / "journal").rename(tmp_path / "lost")
    krond.start()
    assert krond.events("krond_started")[-1]["released"] == 0
    assert (ended(krond).state, (tmp_path / "out").exists()) == (State.UNKNOWN, False)
