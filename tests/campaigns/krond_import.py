"""Imported crontab lines next to Debian's own cron: `make krond-import`.

    python -m tests.campaigns.krond_import [--years N]

The 200 lines of tests/vectors/crontab_import.txt are imported, the krontab file is written and read back, and each
job is compared with Debian's cron (tests/campaigns/debian_cron: its own code, with a clock that a sleep moves ahead
at once). The interval begins before a clock change, is at least a year, and has at least 1,000 periods: 4,122 years
for a line on February 29. Every run in the interval must be a period, and every period a run. A line can differ only
where a note of its import says so. Lines that Debian's cron does not know are given to it as their notes say: `~` as
its first value, a macro in lower case, a line without its `-`, CRON_TZ as the zone of the machine. A line that runs
shortly after a DST gap is alone in its crontab, because cron starts it later if it makes up for other lines first.
The runs in the nights of the two clock changes are printed for typical lines, such as 02:30, 03:00 and every hour.

Exit code: 0 without a difference, 1 with a difference, 2 if cron cannot be built. `--years` shortens long intervals.
"""

import argparse
import re
import sys
import time
import zoneinfo
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from multiprocessing import Pool
from typing import NamedTuple

from kron.language.boot_form import is_boot
from kron.language.crontabs.convert import Host, convert
from kron.language.crontabs.read import Crontab
from kron.language.crontabs.row import Status
from kron.language.crontabs.write import write_krontab
from kron.language.krontab import read_table
from kron.timing.period import nominals
from kron.timing.schedule import Schedule
from kron.timing.schedule.dst import AFTER_FIRST
from kron.timing.zone import LATEST, zone
from tests.campaigns.debian_cron.build import Unavailable, built, version
from tests.campaigns.debian_cron.comparison import difference, gaps
from tests.campaigns.debian_cron.daemon import runs
from tests.campaigns.debian_cron.nights import night_runs, shown
from tests.language.test_crontab_import import BERLIN, LINES, ONE_PERIOD

START = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp())  # a day before the clock change of Europe
FIRINGS = 1_000
YEAR = 31_556_952  # seconds, the mean of 400 years
SPANS = (1, 3, 20, 90)  # years; lines that need more are alone in their crontab
ALONE = SPANS[-1]
AFTER_GAP = 3_600  # seconds in which cron is late after a gap, because it waits 10 s before each skipped minute
CHANGED = ("cronie selects the random time", "Debian's cron accepts", "cron does not log")  # notes about another form


class Line(NamedTuple):
    """A line: as written, the fields for Debian's cron, the schedule that was read back, and the notes."""

    text: str
    fields: str
    schedule: Schedule
    notes: tuple[str, ...]


class Case(NamedTuple):
    """Lines of one crontab in a zone, until before `end`."""

    lines: tuple[Line, ...]
    timezone: str
    end: int


class Result(NamedTuple):
    case: Case
    compared: int
    fewest: int
    differences: list[tuple[str, str]]  # text and what differs, without a note that says so
    known: list[str]


def imported() -> list[Line]:
    """The lines, with the schedules of the written file."""
    rows = convert([Crontab(LINES, "crontab")], Host(zone(BERLIN), START, lambda user: f"/home/{user}"))
    table, timed = read_table(write_krontab(rows, BERLIN), "/krontab"), [r for r in rows if r.status is Status.IMPORTED]
    jobs = [job for job in table.jobs if not is_boot(job.schedule)]
    assert not table.errors and len(jobs) == len(timed) == 200
    return [
        Line(row.text, debian_fields(row.text), job.schedule, row.notes) for row, job in zip(timed, jobs, strict=True)
    ]


def debian_fields(text: str) -> str:
    """The schedule of a line in a form that Debian's cron knows."""
    fields = re.match(r"\s*-?(@\w+|\S+(?:\s+\S+){4})", text)[1]
    if fields.startswith("@"):
        return fields.lower()
    return " ".join(re.sub(r"^(\d*)~\d*$", lambda match: match[1] or "0", field) for field in fields.split())


def years_of(line: Line) -> int:
    """The years that have the next 1,000 periods. This only decides how long cron runs."""
    last = list(islice(nominals(line.schedule, START, LATEST), FIRINGS))[-1]
    return -(-(last - START + 86_400) // YEAR)


def is_delayed(line: Line) -> bool:
    """Whether other lines of a crontab delay this one after a DST gap, when cron makes up for skipped times."""
    changes = gaps(line.schedule.zone.name, START - START % 3_600, START + YEAR)
    return line.schedule.terms.dst == AFTER_FIRST and any(
        next(nominals(line.schedule, gap.at - 1, gap.at + AFTER_GAP), None) is not None for gap in changes
    )


def cases(limit: int) -> list[Case]:
    """The crontabs, those that take longest first."""
    groups, alone = defaultdict[tuple[int, str], list[Line]](list), []
    for line in imported():
        years, name = min(years_of(line), limit), line.schedule.zone.name
        if years > ALONE or is_delayed(line):
            alone.append(Case((line,), name, START + max(years, SPANS[0]) * YEAR))
        else:
            groups[next(span for span in SPANS if years <= span), name].append(line)
    together = [Case(tuple(lines), name, START + years * YEAR) for (years, name), lines in groups.items()]
    return sorted([*alone, *together], key=lambda case: -case.end)


def compared(case: Case, binary) -> Result:
    """Run cron, and compare every run of every line."""
    skip = len(case.lines) == 1
    found = runs(binary, [line.fields for line in case.lines], case.timezone, START, case.end, skip=skip)
    result = Result(case, sum(map(len, found)), min(map(len, found)), [], [])
    for line, of_cron in zip(case.lines, found, strict=True):
        of_kron = list(nominals(line.schedule, START - 1, case.end - 1))
        if of_kron == of_cron:
            continue
        problem = unknown(line, case.timezone, of_kron, of_cron)
        if problem:
            result.differences.append((line.text, problem))
        else:
            result.known.append(line.text)
    return result


def unknown(line: Line, timezone: str, of_kron: list[int], of_cron: list[int]) -> str:
    """What differs although no note says so; empty if there is nothing."""
    if not any(ONE_PERIOD in note for note in line.notes):
        return f"without a note: {sorted(set(of_kron) ^ set(of_cron))[:3]}"
    by_year = defaultdict[int, tuple[list[int], list[int]]](lambda: ([], []))
    for side, times in enumerate((of_kron, of_cron)):
        for at in times:
            by_year[(at - START) // YEAR][side].append(at)
    for year, (kron_times, cron_times) in by_year.items():
        start = START + year * YEAR
        if kron_times != cron_times:
            skipped = gaps(timezone, start - start % 3_600 - 86_400, start + YEAR)
            found = difference(line.fields, timezone, kron_times, cron_times, skipped)
            if not found.is_known:
                return str(found)
    return ""


def compare_nights(binary) -> list[tuple[str, str]]:
    """Print the runs in the nights in which the clocks of Berlin change, and return differences without a note."""
    lines, problems = {line.fields: line for line in imported() if line.schedule.zone.name == BERLIN}, []
    print(f"{BERLIN}: runs in the nights of the clock changes, from 00:30 to 04:30; * is summer time")
    for each in night_runs(binary, {fields: line.schedule for fields, line in lines.items()}):
        same = each.of_cron == each.of_kron
        problem = "" if same else unknown(lines[each.fields], BERLIN, each.of_kron, each.of_cron)
        kron_times = "the same" if same else f"{shown(each.of_kron)} ({'NO NOTE' if problem else 'with a note'})"
        print(f"{each.night:4}  {each.fields:14}  cron: {shown(each.of_cron) or '-'}; Kron: {kron_times}")
        problems += [(each.fields, problem)] if problem else []
    return problems


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--years", type=int, default=10_000)
    limit, started = parser.parse_args().years, time.monotonic()
    zoneinfo.reset_tzpath(to=())
    try:
        binary = built()
    except Unavailable as error:
        print(f"krond-import: cannot build cron: {error}")
        return 2
    work, total, fewest, differences, known = cases(limit), 0, 10**9, compare_nights(binary), []
    lines = [line for case in work for line in case.lines]
    print(f"krond-import: cron {version(binary)} of Debian; {len(lines)} lines in {len(work)} crontabs", flush=True)
    with Pool(2) as pool:
        for result in pool.imap_unordered(partial(compared, binary=binary), work):
            total, fewest = total + result.compared, min(fewest, result.fewest)
            differences += result.differences
            known += result.known
            years = (result.case.end - START) // YEAR
            what = result.case.lines[0].fields if len(result.case.lines) == 1 else f"{len(result.case.lines)} lines"
            print(f"{result.case.timezone}: {what}: {years} years, {result.compared:,} runs", flush=True)
    for text, problem in differences[:20]:
        print(f"difference: {text!r}: {problem}")
    changed = sum(any(note.startswith(CHANGED) for note in line.notes) for line in lines)
    zones = sorted({case.timezone for case in work})
    print(f"known, with a note: {len(known)} lines that cron runs several times after a DST gap")
    print(f"given to cron in another form, with a note: {changed} lines; zones: {', '.join(zones)}")
    counts = (
        f"{len(lines)} lines, at least {fewest:,} runs each, {total:,} runs compared, {len(differences)} differences"
    )
    print(f"krond-import: {'FAIL' if differences else 'PASS'}: {counts}, {time.monotonic() - started:.0f} s")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
