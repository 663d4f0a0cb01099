"""Random traces by the thousand: `python -m tests.embedded.traces [HOW MANY] [FIRST SEED]`, on every core."""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.embedded.oracle import Oracle
from tests.embedded.theatre import perform

CHUNK = 500


def violations(seeds: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Every rule that a trace of those seeds breaks."""
    for seed in seeds:
        for broken in Oracle(perform(seed)).check():
            yield seed, broken


def examine(first: int, count: int) -> tuple[Counter[str], list[tuple[int, str]]]:
    """What was seen in some traces, and what was wrong."""
    logging.disable(logging.CRITICAL)
    seen: Counter[str] = Counter()
    wrong = []
    for seed in range(first, first + count):
        trace = perform(seed)
        seen.update(one.what for one in trace.seen)
        wrong += [(seed, broken) for broken in Oracle(trace).check()]
    return seen, wrong


def main(count: int = 200_000, first: int = 0) -> int:
    """Examine them, and say what came of it; 1 if a rule was broken."""
    seen: Counter[str] = Counter()
    wrong: list[tuple[int, str]] = []
    chunks = [(begin, min(CHUNK, first + count - begin)) for begin in range(first, first + count, CHUNK)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for chunk, (found, broken) in zip(chunks, pool.map(examine, *zip(*chunks, strict=True)), strict=True):
            seen += found
            wrong += broken
            for seed, violation in broken:
                print(f"seed {seed}: {violation}", flush=True)
            if chunk[0] // CHUNK % 40 == 0:
                print(f"{chunk[0] + chunk[1] - first:,} traces", flush=True)
    print(", ".join(f"{number:,} {what}" for what, number in seen.most_common()))
    verdict = "PASS" if not wrong and seen["end"] == count else "FAIL"
    print(f"{verdict}: {seen['end']:,} of {count:,} traces, {len(wrong)} violations")
    return int(verdict == "FAIL")


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
