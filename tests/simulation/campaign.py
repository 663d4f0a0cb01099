"""Many seeds on every core: what went wrong on purpose, how much time passed, and what broke."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from os import cpu_count

from tests.simulation.checker import check
from tests.simulation.mutants import FIRST_SEEDS, MUTANTS
from tests.simulation.setting import setting
from tests.simulation.world import World, crashed

INTERRUPTIONS = ("killed", "killed at a call", "paused", "paused at a call")


@dataclass(slots=True)
class Verdict:
    """What came of one seed."""

    seed: int
    hours: float
    faults: Counter[str]
    writes: int
    refused: int
    found: list[str]


@dataclass(slots=True)
class Tally:
    """What came of many."""

    seeds: int = 0
    hours: float = 0.0
    writes: int = 0
    refused: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    broken: list[Verdict] = field(default_factory=list)

    @property
    def interruptions(self) -> int:
        """Crashes and pauses."""
        return sum(self.faults[name] for name in INTERRUPTIONS)

    def add(self, verdict: Verdict) -> None:
        """One seed more."""
        self.seeds += 1
        self.hours += verdict.hours
        self.writes += verdict.writes
        self.refused += verdict.refused
        self.faults += verdict.faults
        if verdict.found:
            self.broken.append(verdict)

    def lines(self) -> Iterator[str]:
        """The report; the last line is the verdict."""
        for name, count in sorted(self.faults.items()):
            yield f"  {count:9,d}  {name}"
        yield f"  {self.writes:9,d}  writes that held, and {self.refused:,d} that were refused"
        for verdict in sorted(self.broken, key=lambda v: v.seed):
            yield f"seed {verdict.seed}: {verdict.found[0]}"
            yield f"  python -m tests.simulation seed {verdict.seed} -v"
        amount = f"{self.seeds:,d} seeds, {self.hours:,.0f} cluster-hours, {self.interruptions:,d} crashes and pauses"
        yield f"{'FAIL' if self.broken else 'PASS'}: {amount}, violations in {len(self.broken)} seeds"


def play(seed: int) -> Verdict:
    """One seed, from the beginning to the checker."""
    wanted = setting(seed)
    hours = wanted.hours + wanted.calm
    try:
        result = World(wanted).run()
    except Exception as error:  # a cluster that cannot go on is a finding, too
        return Verdict(seed, hours, Counter(), 0, 0, [repr(error)])
    history = result.history
    return Verdict(seed, hours, history.faults, len(history.writes), history.refused, check(result))


def campaign(seeds: Iterable[int], *, show: bool = True) -> Tally:
    """Play them all."""
    tally, began = Tally(), time.monotonic()
    for verdict in each(play, list(seeds)):
        tally.add(verdict)
        if verdict.found and show:
            print(f"\rseed {verdict.seed}: {verdict.found[0]}", flush=True)
        if show and tally.seeds % 10 == 0:
            pace = tally.hours / (time.monotonic() - began)
            state = f"{tally.seeds} seeds, {tally.hours:,.0f} h, {tally.interruptions:,d} crashes and pauses"
            print(f"\r{state}, {pace:.1f} h a second  ", end="", file=sys.stderr, flush=True)
    if show:
        print(file=sys.stderr)
    return tally


def each(work: Callable, arguments: list) -> Iterator:
    """The results in any order, from as many processes as there are cores."""
    with get_context("fork").Pool(cpu_count(), maxtasksperchild=25) as pool:
        yield from pool.imap_unordered(work, arguments)


def hunt(case: tuple[str, int]) -> tuple[str, int | None, str]:
    """The first seed that shows a planted bug, and how. A bug that no longer fits the engine crashes: not a find."""
    name, most = case
    first = FIRST_SEEDS.get(name, 1)
    for seed in range(first, first + most):
        with MUTANTS[name]() as parts:
            try:
                found = check(World(setting(seed), parts).run())
            except Exception as error:
                found = [repr(error)]
        crash = next(filter(crashed, found), None)
        if crash:
            return name, None, f"the planted bug itself crashes in seed {seed}: {crash}"
        if found:
            return name, seed, found[0]
    return name, None, "not found"


def mutants(most: int = 2_000) -> bool:
    """Whether every planted bug is found; prints the table of seeds."""
    rows = []
    for row in each(hunt, [(name, most) for name in MUTANTS]):
        rows.append(row)
        print(f"  {row[0]:36} {row[1] or '-':>5}  {' '.join(row[2].split())[-150:]}", flush=True)
    missed = [row for row in rows if row[1] is None]
    verdict = "FAIL" if missed else "PASS"
    print(f"{verdict}: {len(rows) - len(missed)} of {len(rows)} planted bugs found within {most} seeds")
    return not missed
