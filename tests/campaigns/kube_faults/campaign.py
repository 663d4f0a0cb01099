"""Campaign: rows in one cluster, some of them at the same time; one line for each; then without each protection."""

import re
import threading
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tests.campaigns.kube_faults.rows import PROTECTIONS, ROWS
from tests.campaigns.kube_faults.world import World

TOGETHER = 4  # rows that run at the same time; most of their time is waiting


class Finding(NamedTuple):
    """Result of one repetition."""

    name: str
    periods: int
    jobs: int
    seconds: float
    problems: tuple[str, ...]
    notes: Counter


class Campaign:
    """Rows on a ground."""

    def __init__(self, ground, wanted=""):
        self.ground, self.wanted = ground, wanted
        self.numbers, self.lock = Counter(), threading.Lock()

    def run(self, *, most, is_short=False):
        """Run the rows; return the findings by the name of the row."""
        rows = [row for row in ROWS if re.search(self.wanted, row.name)]
        counts = [int(row.is_short) if is_short else min(most, row.repetitions) for row in rows]
        tasks = [(row, "") for row, count in zip(rows, counts, strict=True) for _ in range(count)]
        return self._run_all(tasks)

    def run_planted(self):
        """Run the row that must find the absence of each protection; return the findings by its name."""
        return self._run_all([(row._replace(name=planted), planted) for planted, row in PROTECTIONS.items()])

    def _run_all(self, tasks):
        release = self.ground.cluster.release
        for name in dict.fromkeys(row.name for row, _ in tasks if row.since > release.minor):
            print(f"left out, because Kubernetes {release.version} does not have what it needs: {name}")
        tasks = [(row, planted) for row, planted in tasks if row.since <= release.minor]
        findings = {row.name: [] for row, _ in tasks}
        with ThreadPoolExecutor(TOGETHER) as pool:
            together = [task for task in tasks if not task[0].is_alone]
            for finding in pool.map(lambda task: self._repeat(*task), together):
                findings[finding.name].append(finding)
        for task in tasks:
            if task[0].is_alone:
                findings[task[0].name].append(self._repeat(*task))
        return findings

    def _repeat(self, row, planted):
        """Run a row once. What it raises is a problem."""
        began, slug = time.monotonic(), re.sub("[^a-z0-9]+", "-", row.name.lower()).strip("-")[:40]
        with self.lock:
            self.numbers[slug] += 1
            name = f"{slug}-{self.numbers[slug]}"
        world = World(self.ground, name, planted)
        try:
            row.use(world)
        except Exception as error:
            text = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
            world.problems.append(f"{name}: {text}")
        world.close()
        seconds = time.monotonic() - began
        print("\n".join([f"{name}: {seconds:.0f} s, {len(world.problems)} problems", *world.problems]), flush=True)
        return Finding(row.name, world.periods, world.jobs, seconds, tuple(world.problems), world.notes)


def table_of(findings):
    """The table of the findings, one line for each row."""
    head = f"{'row':52} {'repetitions':>11} {'seconds each':>12} {'periods':>8} {'Jobs':>6} {'problems':>8}"
    lines = [head, "-" * len(head)]
    for name, found in findings.items():
        seconds = sum(f.seconds for f in found) / len(found)
        periods, jobs, problems = sum(f.periods for f in found), sum(f.jobs for f in found), _problems(found)
        lines.append(f"{name:52} {len(found):11} {seconds:12.0f} {periods:8} {jobs:6} {problems:8}")
    return "\n".join([*lines, "Rows whose repetition takes more than 10 s on an idle machine have fewer than 10."])


def _problems(findings):
    return sum(len(finding.problems) for finding in findings)
