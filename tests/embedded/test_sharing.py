"""Applications that share a database: each runs what it declares, through deploys and restarts."""

import asyncio
import os
import subprocess
import sys
import time

import pytest

from kron import Scheduler
from kron.apps.wiring import open_store
from kron.rules.outcome import Outcome

SECONDS = int(os.environ.get("KRON_TEST_SHARING_SECONDS", "12"))  # how long two applications share a database
APPLICATION = """
import asyncio, sys
from kron import Scheduler

url, seconds, file, *names = sys.argv[1:]
s = Scheduler(url)

def job(name):
    async def run():
        with open(file, "a") as out:
            out.write(name + "\\n")
    return run

for name in names:
    # A busy machine can record the end of a run more than a second later: the next run does not wait for it.
    s.add(job(name), "* * * * * *", dialect="service", name=name, overlap="allow")

async def main():
    async with s:
        await asyncio.sleep(float(seconds))

asyncio.run(main())
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    return f"sqlite:{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue("database")


def start(url, seconds, folder, *names):
    command = [sys.executable, "-c", APPLICATION, url, str(seconds), str(folder / "ran"), *names]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def finished(*processes):
    for process in processes:
        _, said = process.communicate(timeout=SECONDS + 90)
        assert process.returncode == 0, said


def outcomes(url, names):
    """Per job, the nominal times that were executed, and all others with their reasons."""

    async def read():
        async with open_store(url) as store:
            return {name: await store.runs(name, 1_000) for name in names}

    runs = asyncio.run(read())
    executed = {name: sorted(run.nominal for run in of if run.outcome is Outcome.EXECUTED) for name, of in runs.items()}
    return executed, {
        name: [(run.outcome, run.reason) for run in of if not run.open and run.outcome is not Outcome.EXECUTED]
        for name, of in runs.items()
    }


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 120)
def test_two_applications_with_different_jobs_run_every_period(url, tmp_path):
    first, second = [f"web-{n}" for n in range(3)], [f"worker-{n}" for n in range(3)]
    finished(start(url, SECONDS, tmp_path, *first), start(url, SECONDS, tmp_path, *second))
    executed, others = outcomes(url, first + second)
    for name, times in executed.items():
        assert others[name] == [], name
        assert len(times) >= SECONDS - 4, name
        assert times == list(range(times[0], times[0] + len(times))), name  # without a hole


@pytest.mark.slow
def test_rolling_deploy_that_adds_and_removes_a_job_loses_nothing(url, tmp_path):
    old = start(url, 10, tmp_path, "kept", "removed")
    time.sleep(6)
    new = start(url, 12, tmp_path, "kept", "added")
    finished(old, new)
    executed, others = outcomes(url, ["kept", "removed", "added"])
    assert others["kept"] == others["added"] == []
    for name, least in (("kept", 9), ("added", 5), ("removed", 3)):
        times = executed[name]
        assert len(times) >= least, name
        assert times == list(range(times[0], times[0] + len(times))), name
    ran = (tmp_path / "ran").read_text().split()
    assert {name: ran.count(name) for name in executed} == {name: len(times) for name, times in executed.items()}


def test_restart_after_a_clean_stop_runs_within_a_second(url):
    """The next process neither waits for the lease of the one before, nor misses its first period."""
    ran = []

    async def life(seconds):
        began = time.time()
        s = Scheduler(url)

        @s.job("* * * * * *", dialect="service")
        async def tick():
            ran.append(time.time() - began)

        async with s:
            await asyncio.sleep(seconds)

    asyncio.run(life(2.5))
    assert ran
    ran.clear()
    asyncio.run(life(3))
    assert ran[0] < 1.6  # up to a second to the next period
    assert len(ran) >= 2


def test_example_run_twice_prints_the_same_the_second_time(tmp_path):
    from tests.embedded.test_examples import EXAMPLES

    for _ in range(2):
        command = [sys.executable, str(EXAMPLES / "application.py")]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert set(result.stdout.splitlines()) == {"the report is written", "/tmp is clean", "next on a Friday"}
