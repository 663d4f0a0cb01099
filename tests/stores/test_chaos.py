"""Real workers on a real PostgreSQL, killed at every step of the protocol, and at random while all else goes wrong."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from kron import parse
from kron.apps.wiring import open_store
from kron.engine.failpoint import POINTS
from kron.engine.registrar import Registrar
from kron.timing.job import Job
from tests.campaigns.chaos import __main__ as chaos
from tests.campaigns.chaos.findings import Findings, examine, judge
from tests.campaigns.chaos.schedules import POLICIES
from tests.postgres import free_port, running

LEASE = 900  # milliseconds, so that what the dead leave behind is soon taken over
NAMES = [f"{policy}/00000" for policy in POLICIES]
WORKED = [point for point in POINTS if point not in ("K11", "K12")]  # those that a worker passes
MIGRATE = "import asyncio, sys; from kron.stores.postgres.migrate import migrate; asyncio.run(migrate(sys.argv[1]))"
DEFINE = "import asyncio, sys; from tests.stores.test_chaos import define; asyncio.run(define(sys.argv[1]))"


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


def job_of(name):
    schedule = replace(parse("* * * * * *", dialect="service"), policy=POLICIES[name.split("/")[0]])
    return Job(name, schedule, target="post:/")


async def define(url):
    async with open_store(url) as store:
        for name in NAMES:
            await Registrar(store).upsert(job_of(name))


def spawn(*words, fail=""):
    """A process that may have been asked to fail."""
    return subprocess.Popen([sys.executable, *map(str, words)], env={**os.environ, "KRON_FAILPOINT": fail})


def died(process):
    """Whether it was killed, and did not end."""
    return process.wait(30) == -signal.SIGKILL


@contextmanager
def receiver(url, log):
    port = free_port()
    process = spawn("-m", "tests.campaigns.chaos.receiver", port, url, log, 7)
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def killed_and_followed(server, tmp_path, fails):
    """A worker dies at each of those points, then another one takes over; what the ledger and the receiver say."""
    database, log = server.database(), tmp_path / "received"
    log.touch()
    url = server.url(database)
    asyncio.run(define(url))
    with receiver(url, log) as port:
        for n, fail in enumerate(fails):
            life = spawn("-m", "tests.campaigns.chaos.life", url, port, f"w{n}", tmp_path / "log", LEASE, fail=fail)
            assert died(life), f"{fail} was never passed"
        last = spawn("-m", "tests.campaigns.chaos.life", url, port, "last", tmp_path / "log", LEASE)
        time.sleep(1.5)
        calm = int(time.time() * 1000)
        time.sleep(3 * LEASE / 1000)
        last.send_signal(signal.SIGTERM)
        last.wait(30)

    async def told():
        async with open_store(url) as store:
            return await examine(store, server, database, log, {}, min(calm, calm - 20_000), [], print)

    return asyncio.run(told())


def check(server, tmp_path, point, passage):
    if point == "K12":
        url = server.url(server.empty())
        assert died(spawn("-c", MIGRATE, url, fail="K12:1:kill"))
        assert spawn("-c", MIGRATE, url).wait(30) == 0
        asyncio.run(define(url))
        return
    if point == "K11":
        url = server.url(server.database())
        assert died(spawn("-c", DEFINE, url, fail=f"K11:{min(passage, 8)}:kill"))
        assert spawn("-c", DEFINE, url).wait(30) == 0
        return
    before = ["K4:2:kill"] if point == "K10" else []  # somebody must have left a claim
    found = killed_and_followed(server, tmp_path, [*before, f"{point}:{passage}:kill"])
    assert found.good, (found.lost, found.doubled, found.unexplained)
    assert found.periods > len(NAMES)
    assert found.arrivals


@pytest.mark.slow
@pytest.mark.parametrize("points", [WORKED[0::3], WORKED[1::3], WORKED[2::3]], ids="-".join)
def test_workers_die_one_after_another_each_at_its_step(server, tmp_path, points):
    found = killed_and_followed(server, tmp_path, [f"{point}:3:kill" for point in points])
    assert found.good, (found.lost, found.doubled, found.unexplained)
    assert found.periods > len(NAMES)
    assert found.arrivals


@pytest.mark.parametrize("point", [point for point in POINTS if point not in WORKED])
def test_user_request_and_migration_may_die(server, tmp_path, point):
    check(server, tmp_path, point, 3)


@pytest.mark.parametrize(("active", "problems"), [({"coalesce-latest/00000"}, 0), (set(), 1)])
def test_failed_run_may_wait_for_an_active_run_of_its_schedule_and_for_nothing_else(active, problems):
    failed = ("k", "coalesce-latest/00000", 0, 0, 0, 10, "waiting", "executed", "failed", 1, True, "request 1", False)
    found = Findings()
    judge(failed, 1, False, 20, {"coalesce-latest/00000"}, active, found)
    assert len(found.unexplained) == problems


@pytest.mark.campaign
@pytest.mark.parametrize("passage", [1, 3, 10])
@pytest.mark.parametrize("point", POINTS)
def test_at_any_time(server, tmp_path, point, passage):
    check(server, tmp_path, point, passage)


@pytest.mark.slow
@pytest.mark.first
def test_a_short_chaos_finds_nothing(tmp_path):
    words = ["--minutes", "0.8", "--schedules", "1000", "--every", "1", "--pace", "4", "--calm", "35"]
    assert chaos.main([*words, "--seed", str(random.randrange(1 << 30))]) == 0
