"""Several processes, one PostgreSQL, random kills: `python -m tests.embedded.together [SECONDS] [LEASE IN SECONDS]`.

Four applications declare the same jobs, one for each policy, each due every second. One after the other is killed at a
random moment and started again. Then the database and what the jobs wrote down must agree: one record a period, one
run of it, none beside another where that is forbidden.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from kron.apps.wiring import open_store
from kron.engine.audit import audit
from kron.rules.outcome import Outcome
from kron.rules.run import Run
from kron.rules.run_state import State
from tests.embedded.member import JOBS, live
from tests.postgres import running

PROCESSES = 4
BETWEEN = (0.5, 4.0)  # seconds from one kill to the next
GRACE = 0.2  # how often one is asked to end instead


@dataclass(slots=True)
class Work:
    """One call of a function, as it wrote it down: which attempt at which run, from when to when, and how it ended."""

    identity: str
    key: str
    attempt: int
    pid: int
    began: float
    ended: float | None = None
    how: str = "died"


class Campaign:
    """Keeps four processes going."""

    def __init__(self, url: str, lease: int, folder: Path, seed: int) -> None:
        self.url, self.lease, self.folder, self.random = url, lease, folder, Random(seed)
        self.journal = folder / "journal"
        self.journal.touch()
        self.alive: list[int] = []
        self.deaths: dict[int, float] = {}
        self.killed: set[int] = set()
        self.stops = 0

    def begin(self) -> None:
        pid = os.fork()
        if pid == 0:
            live(self.url, self.lease, self.journal, self.folder / "log")
        self.alive.append(pid)

    def end(self, pid: int, how: signal.Signals) -> None:
        self.alive.remove(pid)
        os.kill(pid, how)
        os.waitpid(pid, 0)
        self.deaths[pid] = time.time()
        if how is signal.SIGKILL:
            self.killed.add(pid)

    def trouble(self, seconds: float) -> None:
        """Kill one now and then, and start another in its place."""
        for _ in range(PROCESSES):
            self.begin()
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, self.random.uniform(*BETWEEN)))
            gently = self.random.random() < GRACE
            self.end(self.random.choice(self.alive), signal.SIGTERM if gently else signal.SIGKILL)
            self.stops += gently
            self.begin()

    def quiet(self) -> None:
        """Let all that the dead have left be missed, and come to its end."""
        time.sleep(3 * self.lease / 1000)
        for pid in list(self.alive):
            self.end(pid, signal.SIGTERM)

    def works(self) -> list[Work]:
        """What the jobs wrote down. Who died in between ended when its process did."""
        found: dict[tuple[str, int, int], Work] = {}
        again = []
        for line in self.journal.read_text().splitlines():
            what, at, pid, identity, key, attempt = json.loads(line)
            if what == "begin":
                if (key, attempt, pid) in found:
                    again.append(found[key, attempt, pid])
                found[key, attempt, pid] = Work(identity, key, attempt, pid, at)
            else:
                found[key, attempt, pid].ended, found[key, attempt, pid].how = at, what
        return [*found.values(), *again]


@dataclass(slots=True)
class Examination:
    """The database beside what the jobs wrote down."""

    works: list[Work]
    deaths: dict[int, float]
    killed: set[int]
    runs: list[Run] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    periods: int = 0

    async def look(self, url: str) -> None:
        async with open_store(url) as store:
            async for found in audit(store, list(JOBS)):
                self.periods += found.periods
                if not found.sound:
                    self.wrong.append(f"{found.identity}: unexplained {found.unexplained}, twice {found.twice}")
                self.runs += await store.runs(found.identity, 1_000_000)

    def examine(self) -> None:
        worked = defaultdict[str, list[Work]](list)
        for work in self.works:
            worked[work.key].append(work)
        for run in self.runs:
            self._agree(run, worked.pop(run.key, []))
        self.wrong += [f"{key} ran, and has no record" for key in worked]
        for name in JOBS:
            if not name.startswith("allow"):
                self._apart(name)

    def _agree(self, run: Run, works: list[Work]) -> None:
        """One record, and the calls that it speaks of."""
        told = f"{run.identity} {run.nominal} is {run.state} after attempt {run.attempt}"
        attempts = Counter(work.attempt for work in works)
        if max(attempts.values(), default=0) > 1 or max(attempts, default=0) > run.attempt:
            self.wrong.append(f"{told}, and its attempts ran so often: {dict(attempts)}")
        if len(works) > 1 and "restart" not in run.identity:
            self.wrong.append(f"{told}, and ran {len(works)} times")
        ends = [work.how for work in works]
        if run.state is State.SUCCESS and "end" not in ends:
            self.wrong.append(f"{told}, and no call of it came to its end: {ends}")
        if run.state is State.FAILED and not works:
            self.wrong.append(f"{told}, and was never called")
        if ends.count("end") > 1:
            died = [work for work in works if work.how == "end" and work.pid in self.killed]
            if len(died) < ends.count("end") - 1:  # a process may die between the end and its record
                self.wrong.append(f"{told}, and came to its end {ends.count('end')} times")
        if works and run.outcome is not Outcome.EXECUTED:
            self.wrong.append(f"{told}, and ran all the same")
        if run.active and run.tries:  # a claim that was withheld, because its process stopped, waits for the next one
            self.wrong.append(f"{told}, and nobody is left who could run it")

    def _apart(self, name: str) -> None:
        """No two calls of a job at the same time."""
        spans = sorted((w.began, w.ended or self.deaths.get(w.pid, w.began)) for w in self.works if w.identity == name)
        for (_, end), (begin, _) in pairwise(spans):
            if begin < end:
                self.wrong.append(f"{name} ran beside itself for {end - begin:.3f} s")


def main(seconds: float = 600, lease: float = 10, seed: int = 1) -> int:
    """Let them work for so long, and say what came of it; 1 if the two accounts differ."""
    with tempfile.TemporaryDirectory() as folder, running() as server:
        url = server.url(server.database())
        campaign = Campaign(url, int(lease * 1000), Path(folder), seed)
        try:
            campaign.trouble(seconds)
            campaign.quiet()
        finally:
            for pid in list(campaign.alive):
                campaign.end(pid, signal.SIGKILL)
        examination = Examination(campaign.works(), campaign.deaths, campaign.killed)
        asyncio.run(examination.look(url))
    examination.examine()
    for wrong in examination.wrong[:20]:
        print(wrong)
    print(_summary(examination))
    completed = {work.identity for work in examination.works if work.how == "end"}
    enough = len(campaign.killed) >= seconds / 5 and completed == set(JOBS)
    good = enough and not examination.wrong
    print(
        f"{'PASS' if good else 'FAIL'}: {PROCESSES} processes for {seconds:.0f} s, {len(campaign.killed)} killed and"
        f" {campaign.stops} stopped, {examination.periods} periods, {len(examination.wrong)} violations"
    )
    return int(not good)


def _summary(examination: Examination) -> str:
    states = Counter(str(run.state) for run in examination.runs)
    hows = Counter(work.how for work in examination.works)
    took: Any = Counter(run.attempt for run in examination.runs if run.attempt > 1)
    return (
        f"recorded: {', '.join(f'{n} {state}' for state, n in states.most_common())}; "
        f"called: {', '.join(f'{n} {how}' for how, n in hows.most_common())}; {took.total()} ran again"
    )


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:])))
