"""Measure krond, print each figure next to its target and to Debian's cron, and say whether krond reaches it.

    python -m benchmarks.krond [--short]

The exit status is 1 if a figure is not reached. `--short` takes seconds, for small tables, without cron and targets.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.daemon.krond import Krond, until

from benchmarks.krond.debian_cron import measure
from benchmarks.krond.process import Process, starts_in
from kron.rules.run_state import State
from kron.timing.zone import rfc3339

TABLES = 100  # of which one changes


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    lines: int = 10_000
    due: int = 2_000
    idle_seconds: float = 120.0
    settle_seconds: float = 30.0
    steady_seconds: int = 20
    steady_rate: int = 100
    children: int = 1_000


SHORT = Sizes(200, 20, 0.5, 0.5, 2, 5, 20)


@dataclass(frozen=True)
class Figure:
    """A measured figure, the highest one that is wanted, and that of Debian's cron."""

    name: str
    value: float
    target: float
    unit: str
    cron: float | None = None

    @property
    def reached(self) -> bool:
        """Whether the target is reached."""
        return self.value <= self.target

    def __str__(self) -> str:
        cron = "-" if self.cron is None else f"{self.cron:.4g}"
        verdict = "reached" if self.reached else "NOT REACHED"
        return f"{self.name:45} {self.value:9.4g} {self.target:9.4g} {self.unit:5} {cron:>9}  {verdict}"


def idle(krond: Krond, sizes: Sizes, cron: dict[str, float]) -> list[Figure]:
    """Measure the load of many lines, an idle daemon, and the reload of one table of many."""
    per_table = sizes.lines // TABLES

    def write(table: int, edit: str = "") -> None:
        lines = [f"{n % 60} 0 1 1 * name=j{n} command=/bin/true" for n in range(per_table - 1)]
        krond.write(f"t{table}", *lines, f"0 0 1 1 * name=last command=/bin/true{edit}")

    for table in range(TABLES):
        write(table)
    began = time.monotonic()
    krond.start()
    ready, process = time.monotonic() - began, Process(krond.process.pid)
    load_cpu = process.cpu()
    time.sleep(sizes.settle_seconds)
    share, rss, before, seen = process.cpu_percent(sizes.idle_seconds), process.rss(), process.cpu(), TABLES
    for count in range(1, 11):
        write(3, f"-{count}")
        until(lambda count=count: len(krond.events("table_loaded")) == seen + count)
    time.sleep(0.5)
    reload = (process.cpu() - before) / 10 * 1000
    krond.stop()
    return [
        Figure(f"load of {sizes.lines:,} lines, until ready", ready, 2.0, "s"),
        Figure(f"load of {sizes.lines:,} lines, CPU time", load_cpu, 2.0, "s", cron.get("load_cpu")),
        Figure(f"{sizes.lines:,} idle lines: CPU", share, 0.1, "%", cron.get("idle_cpu")),
        Figure(f"{sizes.lines:,} idle lines: memory", rss, 60.0, "MB", cron.get("rss")),
        Figure(f"reload of one table of {TABLES}, CPU time", reload, 50.0, "ms"),
    ]


def due_at_once(krond: Krond, sizes: Sizes, cron: dict[str, float]) -> list[Figure]:
    """Measure many commands that are due in one second."""
    at, starts = int(time.time()) + 20, krond.folder / "starts"
    schedule = f"plus: at {rfc3339(at)} @policy(deadline=10m)"
    krond.write("busy", *[krond.job(f"j{n}", f"date +%s.%N >> {starts}", schedule) for n in range(sizes.due)])
    krond.start()
    until(lambda: len(starts_in(starts)) >= sizes.due or time.time() > at + 120, 180)
    last = max(starts_in(starts), default=at + 120.0) - at
    until(lambda: all(not run.open for n in range(sizes.due) for run in krond.runs(f"j{n}", "busy")[:1]), 120)
    runs = [run for n in range(sizes.due) for run in krond.runs(f"j{n}", "busy")]
    krond.stop()
    not_once = sizes.due - len(starts_in(starts)) + sum(run.state is not State.SUCCESS for run in runs)
    return [
        Figure(f"{sizes.due:,} due in one second: last start", last, 12.0, "s", cron.get("last_start")),
        Figure("of these withheld attempts", sum(run.unsent for run in runs), 0, ""),
        Figure("of these not started, or not successful", not_once, 0, ""),
    ]


def steady(krond: Krond, sizes: Sizes, cron: dict[str, float]) -> list[Figure]:
    """Measure the lateness of a steady number of starts per second."""
    schedule = "plus: * * * * * * @policy(concurrency=allow,deadline=30s)"
    krond.write("steady", *[krond.job(f"j{n}", "true", schedule) for n in range(sizes.steady_rate)])
    krond.start()
    time.sleep(sizes.steady_seconds + 3)
    krond.stop()
    runs = [run for n in range(sizes.steady_rate) for run in krond.runs(f"j{n}", "steady") if run.sent]
    late = sorted(run.sent - run.due for run in runs)
    wanted = sizes.steady_rate * sizes.steady_seconds
    return [
        Figure(f"{sizes.steady_rate} starts/s: p99 of the lateness", late[len(late) * 99 // 100], 150, "ms"),
        Figure(f"of {wanted:,} starts missing", max(0, wanted - len(runs)), 0, ""),
    ]


def other_user(krond: Krond, sizes: Sizes, cron: dict[str, float]) -> list[Figure]:
    """Measure the time between two starts as another user."""
    count, at, starts = sizes.due // 4, int(time.time()) + 10, krond.folder / "starts"
    starts.touch()
    starts.chmod(0o666)
    krond.folder.chmod(0o711)
    schedule = f"plus: at {rfc3339(at)} @policy(deadline=10m)"
    lines = [krond.job(f"j{n}", f"date +%s.%N >> {starts}", schedule, more="user=nobody") for n in range(count)]
    krond.write("users", *lines)
    krond.start()
    until(lambda: len(starts_in(starts)) >= count or time.time() > at + 120, 180)
    krond.stop()
    noted = sorted(starts_in(starts))
    return [Figure(f"user=nobody, {count} at once: time a start", (noted[-1] - noted[0]) / len(noted) * 1000, 5, "ms")]


def many_children(krond: Krond, sizes: Sizes, cron: dict[str, float]) -> list[Figure]:
    """Measure a daemon while many commands run."""
    schedule = f"plus: at {rfc3339(int(time.time()) + 10)} @policy(deadline=10m)"
    krond.write("many", *[krond.job(f"j{n}", "exec sleep 600", schedule) for n in range(sizes.children)])
    krond.start()
    until(lambda: len(krond.events("launch_completed")) >= sizes.children, 180)
    process = Process(krond.process.pid)
    time.sleep(sizes.settle_seconds / 3)
    threads, share = process.threads(), process.cpu_percent(sizes.idle_seconds / 6)
    krond.stop()
    return [
        Figure(f"{sizes.children:,} running commands: threads", threads, 3, ""),
        Figure(f"{sizes.children:,} running commands: CPU", share, 1.0, "%"),
    ]


Part = Callable[[Krond, Sizes, dict[str, float]], list[Figure]]
PARTS: tuple[Part, ...] = (
    idle,
    due_at_once,
    steady,
    other_user,
    many_children,
)


class HostKrond(Krond):
    """A daemon of root, whose jobs can have other users."""

    def command(self, *more: str) -> list[str]:
        """Return the command line."""
        return [word for word in super().command(*more) if word != "--user"]


def run_part(
    part: Callable[[Krond, Sizes, dict[str, float]], list[Figure]], sizes: Sizes, cron: dict[str, float]
) -> list[Figure]:
    """Measure one part with a daemon of its own."""
    folder = Path(tempfile.mkdtemp(prefix="krond-bench-"))
    krond = HostKrond(folder)
    try:
        return part(krond, sizes, cron)
    finally:
        krond.close()
        shutil.rmtree(folder)


def main(args: list[str]) -> int:
    """Measure all parts, and print one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="measure small tables, without cron")
    parser.add_argument("--part", action="append", choices=[part.__name__ for part in PARTS], help="only this part")
    given = parser.parse_args(args)
    sizes = SHORT if given.short else Sizes()
    cron = None if given.short else measure(sizes.lines, sizes.due, sizes.idle_seconds)
    if cron is None:
        print("Debian's cron is not measured")
    print(f"{'figure':45} {'krond':>9} {'target':>9} {'':5} {'cron':>9}", flush=True)
    is_reached = True
    for part in PARTS:
        if given.part is None or part.__name__ in given.part:
            for figure in run_part(part, sizes, cron or {}):
                print(figure, flush=True)
                is_reached &= figure.reached
    print("PASS" if is_reached else "FAIL: at least one figure is not reached")
    return 0 if is_reached or given.short else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
