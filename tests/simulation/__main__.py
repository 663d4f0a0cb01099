"""The simulator's command line.

python -m tests.simulation seed 17 [-v]       one seed, with its history
python -m tests.simulation run [FIRST] COUNT  many seeds on every core
python -m tests.simulation mutants [MOST]     how many seeds it takes to find each planted bug
python -m tests.simulation year [SCHEDULES]   a year of daily schedules, and the digest of its ledger
"""

from __future__ import annotations

import logging
import sys

from tests.simulation.campaign import campaign, mutants
from tests.simulation.checker import check
from tests.simulation.setting import setting
from tests.simulation.world import World
from tests.simulation.year import year


def one(seed: int, *, verbose: bool) -> bool:
    result = World(setting(seed)).run()
    found = check(result)
    if verbose:
        print("\n".join(result.history.lines()))
    print(result.setting)
    for name, count in sorted(result.history.faults.items()):
        print(f"  {count:6,d}  {name}")
    print("\n".join(found))
    print(f"digest {result.history.digest()}")
    print(f"{'FAIL' if found else 'PASS'}: seed {seed}, {len(found)} violations")
    return not found


def many(first: int, count: int) -> bool:
    tally = campaign(range(first, first + count))
    print("\n".join(tally.lines()))
    return not tally.broken


def main(words: list[str]) -> int:
    verbose = "-v" in words
    command, *rest = [word for word in words if word != "-v"] or [""]
    numbers = [int(word) for word in rest]
    if command == "seed" and len(numbers) == 1:
        return not one(*numbers, verbose=verbose)
    if command == "run" and len(numbers) in (1, 2):
        return not many(*([0, *numbers] if len(numbers) == 1 else numbers))
    if command == "mutants" and len(numbers) < 2:
        return not mutants(*numbers)
    if command == "year" and len(numbers) < 2:
        return not year(*numbers)
    print(__doc__)
    return 2


if __name__ == "__main__":
    logging.disable()  # thousands of passes fail on purpose
    sys.exit(main(sys.argv[1:]))
