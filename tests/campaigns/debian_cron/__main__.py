"""Compare the vixie reader with Debian's own cron: `make debian-cron`.

Debian's cron is built from its source package, with a clock that a sleep moves ahead at once, and without starting
commands. What decides when a line runs is Debian's code.

- The year: the lines of real crontabs (tests/vectors/crontab_lines.txt), all in one crontab, for 2026 in three zones.
- The changes: lines at the edges of the rules, each alone in its crontab, around every clock change of 2026.

Exit code: 0 without a difference, 1 with a difference, 2 if cron cannot be built. Known differences are only named.
"""

import sys
import time
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

from benchmarks.dst_board import YEAR, changes

from kron.timing.tzdata import host_version
from tests.campaigns.debian_cron.build import Unavailable, built, version
from tests.campaigns.debian_cron.comparison import KNOWN, Difference, differences
from tests.campaigns.debian_cron.daemon import runs
from tests.campaigns.debian_cron.lines import EDGES, REAL

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
DAY = 86_400


class Case(NamedTuple):
    """A crontab in a time zone, from `start` until before `end`."""

    lines: tuple[str, ...]
    timezone: str
    start: int
    end: int


class Result(NamedTuple):
    """What cron did with a case: the case, how many runs were compared, and the differences."""

    case: Case
    compared: int
    differences: list[Difference]


def year_cases() -> Iterator[Case]:
    """All lines of real crontabs for a year, in each zone."""
    start, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (YEAR, YEAR + 1))
    return (Case(tuple(REAL), timezone, start, end) for timezone in ZONES)


def change_cases() -> Iterator[Case]:
    """Each line of the edges alone, one day before and after each clock change of the year."""
    return (Case((line,), change.zone, change.at - DAY, change.at + DAY) for change in changes() for line in EDGES)


def compared(case: Case, binary: Path) -> Result:
    """Run cron, and compare."""
    of_cron = runs(binary, *case)
    return Result(case, sum(map(len, of_cron)), differences(case.lines, of_cron, *case[1:]))


def main() -> int:
    """Build cron, compare the year and the changes, and print the verdict."""
    started, tz_version = time.monotonic(), host_version()
    zoneinfo.reset_tzpath(to=())  # changes() reads the tz database of the package
    try:
        binary = built()
    except Unavailable as error:
        print(f"debian-cron: cannot build cron: {error}")
        return 2
    print(f"debian-cron: cron {version(binary)} of Debian, tz database {tz_version}, {binary}")
    ask, total, unknown, known = partial(compared, binary=binary), 0, list[Difference](), list[Difference]()
    year, edges = list(year_cases()), list(change_cases())
    zones = {case.timezone for case in edges}
    print(f"year: {len(REAL)} lines in one crontab, {YEAR}, {len(ZONES)} zones", flush=True)
    with Pool(2) as pool:
        for number, result in enumerate(pool.imap(ask, [*year, *edges]), 1):
            total += result.compared
            known += [one for one in result.differences if one.is_known]
            unknown += [one for one in result.differences if not one.is_known]
            if number <= len(year):
                print(f"year: {result.case.timezone}: {result.compared:,} runs compared", flush=True)
            if number == len(year):
                print(f"changes: {len(EDGES)} lines, each alone, around the clock changes of {len(zones)} zones")
            elif number > len(year) and (number - len(year)) % (10 * len(EDGES)) == 0:
                done = (number - len(year)) // len(EDGES)
                print(f"changes: {done} of {len(edges) // len(EDGES)} changes", flush=True)
    return verdict(total, unknown, known, time.monotonic() - started)


def verdict(total: int, unknown: list[Difference], known: list[Difference], seconds: float) -> int:
    """Print the counts and the differences, and return the exit code."""
    lines = sorted({one.line for one in known})
    print(f"known: {len(known)} ({KNOWN}): {', '.join(map(repr, lines)) or 'none'}")
    for one in unknown[:20]:
        print(f"difference: {one}")
    names = {*ZONES, *(case.timezone for case in change_cases())}
    counts = f"{len({*REAL, *EDGES})} lines, {len(names)} zones, {total:,} runs compared, {len(unknown)} differences"
    print(f"debian-cron: {'FAIL' if unknown else 'PASS'}: {counts}, {len(known)} known, {seconds:.0f} s")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
