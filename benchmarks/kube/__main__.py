"""Measure kron-operator and the CronJob controller on one API server, and print each figure next to its target.

    python -m benchmarks.kube

`KRON_KUBE_JOBS` sets the number of KronJobs (5,000); with fewer, the run is short and its speed is not judged. The
exit status is 1 if a target is missed. Needs `make kube`.
"""

from __future__ import annotations

import os
import platform
import sys
import time

from tests.kube.cluster.release import Release, built_release
from tests.kube.conftest import apply_definition

from benchmarks.kube import cronjob_side, kron_side
from benchmarks.kube.cluster import BenchmarkCluster
from benchmarks.kube.figure import Figure, table
from benchmarks.kube.operator_process import OperatorProcess
from benchmarks.kube.sizes import Sizes, chosen_sizes
from benchmarks.kube.world import World
from kron import __version__

Measured = dict[str, float]


def main() -> int:
    """Measure both sides, and print the table."""
    release, sizes = built_release(), chosen_sizes()
    began, load = time.time(), os.getloadavg()[0]
    print(f"Kubernetes {release.version}, kron {__version__}, Python {platform.python_version()}, {sizes}", flush=True)
    kron, cronjob = measure(release, sizes)
    figures = figures_of(kron, cronjob, sizes)
    print(table(figures))
    minutes = (time.time() - began) / 60
    print(f"{minutes:.1f} minutes; load before {load:.1f}, after {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores")
    missed = [figure.name for figure in figures if not figure.reached and (figure.is_count or not sizes.is_short)]
    passed = "all counts are reached; a short run judges nothing else" if sizes.is_short else "all targets are reached"
    print(f"FAIL: {len(missed)} targets missed: {'; '.join(missed)}" if missed else f"PASS: {passed}")
    return 1 if missed else 0


def measure(release: Release, sizes: Sizes) -> tuple[Measured, Measured]:
    """Return the figures of both sides. One of them runs at a time."""
    cluster = BenchmarkCluster(release)
    try:
        cluster.start()
        apply_definition(cluster)
        world = World(cluster, sizes)
        return _kron(world), _told(cronjob_side.measure(world), "CronJob controller")
    finally:
        cluster.close()


def _kron(world: World) -> Measured:
    operator = OperatorProcess(world.cluster)
    try:
        operator.start()
        time.sleep(world.sizes.settle)
        measured = {"empty": operator.figures.rss()}
        for name, part in {
            "calls": lambda: kron_side.calls(world),
            "burst": lambda: kron_side.burst(world, operator),
            "window": lambda: kron_side.window(world),
            "size": lambda: kron_side.size(world, operator),
        }.items():
            part_figures = _told(part(), name)
            measured |= {f"{name} {figure}": value for figure, value in part_figures.items()}
        warnings = operator.warnings()
        print("\n".join(warnings[:10]))
        return measured | {"warnings": len(warnings)}
    finally:
        operator.close()


def _told(measured: Measured, part: str) -> Measured:
    print(f"{time.strftime('%H:%M:%S')} {part}: {measured}", flush=True)
    return measured


def figures_of(kron: Measured, cronjob: Measured, sizes: Sizes) -> list[Figure]:
    """Return the figures of the table."""
    jobs = f"{sizes.jobs:,} due in one second"
    window = f"{sizes.jobs:,} in a window of {sizes.window} s"
    whole = f"{sizes.jobs:,} KronJobs and {kron['size jobs']:,.0f} Jobs"
    per_kronjob = (kron["burst rss"] - kron["empty"]) / sizes.jobs * 1000
    exceeds = not cronjob.get("is_whole", True)
    return [
        Figure(f"{jobs}: last Job created", "s", kron["burst last"], 40, cronjob["last"], cronjob_exceeds=exceeds),
        Figure(f"{jobs}: p50", "s", kron["burst p50"], 15, cronjob["p50"]),
        Figure("of these without a Job", "", sizes.jobs - kron["burst created"], 0, is_count=True),
        Figure("periods with two Jobs", "", kron["window doubled"], 0, is_count=True),
        Figure("CPU of the operator for each of these Jobs", "ms", kron["burst cpu_ms"]),
        Figure(f"{window}: p99 of the lateness", "s", kron["window p99"], 1),
        Figure("of these missed, with a deadline of 10 s", "", kron["window missed"], 0, is_count=True),
        Figure("of these early", "", kron["window early"], 0, is_count=True),
        Figure("requests for a run, from creation to deletion of its Job", "", kron["calls all"], 3.3, cronjob["all"]),
        Figure("of these status writes", "", kron["calls status"], 1.3, cronjob["status"]),
        Figure("of these Jobs not deleted, in %", "", 100 * (1 - kron["calls deletes"]), 0, is_count=True),
        Figure("status writes of a KronJob within 2 s of another", "", kron["burst close_writes"], 0),
        Figure(f"memory with {whole}", "MB", kron["size rss"], 180, cronjob.get("rss")),
        Figure("memory for each KronJob", "kB", per_kronjob, 12),
        Figure(f"CPU when idle, {whole}", "%", kron["size idle"], 2, cronjob.get("idle")),
        Figure("restart to the first Job of the first plan", "s", kron["size restart"], 8),
        Figure("warnings in the log of the operator", "", kron["warnings"], 0, is_count=True),
    ]


if __name__ == "__main__":
    sys.exit(main())
