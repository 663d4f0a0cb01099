"""Many tasks, all due in the same minute: `make bench-embedded`.

DeclarativeScheduler with a store in memory and in a SQLite file, each in a process of its own and at a real boundary of
a minute; the callbacks do nothing but note when they were called. Beside it, APScheduler 3 and Celery beat with fewer
jobs, in an environment of their own. KRON_TASKS and KRON_PEERS name other numbers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.embedded.result import Result, read

TASKS = [int(n) for n in os.environ.get("KRON_TASKS", "100000,1000000").split(",") if n]
PEERS = [int(n) for n in os.environ.get("KRON_PEERS", "1000,10000").split(",") if n]
STORES = ("memory", "sqlite")
ALONE = ["uv", "run", "--quiet", "--no-project", "--python", "3.11"]
PACKAGES = {"apscheduler3": ["apscheduler==3.11.3", "sqlalchemy==2.1.8"], "celery_beat": ["celery==5.7.0"]}

A_START = 200e-6  # seconds from the boundary to the last start, for each task: 20 s for 100,000
MEMORY = 1_024  # bytes a task
AGAIN = 60.0  # seconds from the restart to running, for a million; proportionally less for fewer, but ten at least


def main() -> int:
    """Measure one after the other, and say which figures fall short; 1 if any does."""
    ours = [_asked(_kron(store, n)) for n in TASKS for store in STORES]
    beside = [
        _asked(command) for n in PEERS for command in (_kron("sqlite", n), *(_peer(peer, n) for peer in PACKAGES))
    ]
    _show([*ours, *beside])
    short = [why for result in ours for why in _short(result)]
    for why in short:
        print(f"short: {why}")
    print("PASS" if not short else f"FAIL: {len(short)} figures fall short")
    return int(bool(short))


def _kron(store: str, count: int) -> list[str]:
    return [sys.executable, "-m", "benchmarks.embedded.kron", store, str(count)]


def _peer(name: str, count: int) -> list[str]:
    packages = [word for package in PACKAGES[name] for word in ("--with", package)]
    return [*ALONE, *packages, "python", "-m", f"benchmarks.embedded.{name}", str(count)]


def _asked(command: list[str]) -> Result:
    print(f"{' '.join(command[command.index('-m') + 1 :])} ...", file=sys.stderr, flush=True)
    environment = {**os.environ, "PYTHONPATH": "."}
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return read(out.splitlines()[-1])


def _show(results: Sequence[Result]) -> None:
    times = "".join(f"{name:>9}" for name in ("p50", "p99", "last"))
    print(f"{'':21}{'tasks':>10}{'started':>10}{'begin':>8}{times}{'a second':>10}{'bytes':>15}")
    for r in results:
        lateness = "".join(f"{seconds:8.2f}s" for seconds in (r.p50, r.p99, r.last))
        memory = f"{r.memory:.0f} to {r.peak:.0f}"
        again = "" if r.again is None else f", again in {r.again:.1f} s"
        print(f"{r.name:21}{r.tasks:>10,}{r.started:>10,}{r.begin:7.1f}s{lateness}{r.rate:10,.0f}{memory:>15}{again}")


def _short(result: Result) -> list[str]:
    """Where a result falls short, and of what."""
    name, found = f"{result.name}, {result.tasks:,} tasks", list[str]()
    within, restart = result.tasks * A_START, max(10.0, AGAIN * result.tasks / 1e6)
    if result.started < result.tasks or result.last > within:
        found.append(f"{name}: {result.started:,} started, the last after {result.last:.1f} s, not {within:.0f} s")
    if result.memory > MEMORY:
        found.append(f"{name}: {result.memory:.0f} bytes a task, not {MEMORY}")
    if result.again is not None and result.again > restart:
        found.append(f"{name}: running again after {result.again:.1f} s, not {restart:.0f} s")
    return found


if __name__ == "__main__":
    sys.exit(main())
