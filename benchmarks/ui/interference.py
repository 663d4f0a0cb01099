"""Interference: the lateness of runs without and with viewers, in turns, so that both have the same conditions."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from tests import spent

from benchmarks.ui.pages import quantile
from benchmarks.ui.site import Site

RATE = 800  # runs per second
MAX_RATIO = 1.05  # lateness p99 with viewers, compared with that without
SETTLE_SECONDS = 3.0


class Turn(NamedTuple):
    """Lateness of the runs of one turn in milliseconds, and the pages that were loaded and refused in it.

    `host_cpu` is the seconds of CPU that the host of the virtual machine took.
    """

    runs: int
    p50: float
    p99: float
    pages: int
    refused: int
    host_cpu: float


def measured_turns(url: str, site: Site, addresses: Sequence[str], rounds: int, seconds: float) -> list[list[Turn]]:
    """Return the turns without viewers and those with them, which alternate."""
    command = [sys.executable, "-m", "benchmarks.ui.worker", url, str(RATE)]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(2 * SETTLE_SECONDS)
        turns = [_turn(worker, site, addresses if number % 2 else (), seconds) for number in range(2 * rounds)]
    finally:
        worker.communicate(timeout=60)
    return [turns[::2], turns[1::2]]


def _turn(worker: subprocess.Popen[str], site: Site, addresses: Sequence[str], seconds: float) -> Turn:
    command = [sys.executable, "-m", "benchmarks.ui.viewers", str(site.port), *addresses]
    viewers = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(SETTLE_SECONDS)
    _tell(worker, "begin")
    taken = spent.by_host()
    time.sleep(seconds)
    _tell(worker, "end")
    taken = spent.by_host() - taken
    assert worker.stdout is not None
    delays = json.loads(worker.stdout.readline())
    pages, refused = json.loads(viewers.communicate("end\n", timeout=60)[0])
    return Turn(len(delays), quantile(delays, 0.5), quantile(delays, 0.99), pages, refused, taken)


def _tell(worker: subprocess.Popen[str], word: str) -> None:
    assert worker.stdin is not None
    worker.stdin.write(f"{word}\n")
    worker.stdin.flush()


def print_turns(turns: Sequence[Sequence[Turn]], viewers: int) -> bool:
    """Print the turns and the ratio of their medians. Returns whether viewers delay runs too much."""
    for name, of_kind in zip(("without viewers", f"with {viewers} viewers"), turns, strict=True):
        for turn in of_kind:
            late = f"p50 {turn.p50:7.1f} ms, p99 {turn.p99:7.1f} ms"
            pages = f"{turn.pages:,} pages, {turn.refused} refused"
            print(f"  {name:<18}{turn.runs:>8,} runs, {late}, {pages}, {turn.host_cpu:.1f} s of CPU taken by the host")
    alone, watched = (statistics.median(turn.p99 for turn in of_kind) for of_kind in turns)
    ratio = watched / alone
    is_short = ratio >= MAX_RATIO or any(turn.refused for of_kind in turns for turn in of_kind)
    verdict = "NOT reached" if is_short else "reached"
    print(f"{verdict:12}lateness p99 with viewers: {ratio:.2f} of that without, wanted below {MAX_RATIO}")
    return is_short
