"""Answers of schedulers that are not Python libraries of this environment, recorded for the DST board.

They need a service manager, a Java machine or another environment. So `python -m benchmarks.dst_peers` asks them once,
and writes what differs from the wall clock to `dst_peers.json`. The board reads this file. A scheduler that cannot be
started keeps its recorded answers.

    python -m benchmarks.dst_peers --quartz "quartz.jar:slf4j-api.jar" --celery other/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import zoneinfo
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from benchmarks.dst_board import EXPRESSIONS, Case, Change, changes, right

RECORD = Path(__file__).with_name("dst_peers.json")
FOLDER = Path(__file__).with_name("peers")
SYSTEM_ZONES = Path("/usr/share/zoneinfo")
SYSTEMD_TEXTS = dict(
    zip(
        EXPRESSIONS,
        (
            "*-*-* *:00/15:00",
            "*-*-* *:00:00",
            "*-*-* 00/2:00:00",
            "*-*-* 00:00:00",
            "*-*-* 00:30:00",
            "*-*-* 01:30:00",
            "*-*-* 02:00:00",
            "*-*-* 02:30:00",
            "Sun *-*-* 01:30:00",
            "*-03-29 02:00:00",
        ),
        strict=True,
    )
)
Answers = list[list[int] | None]  # None: no answer


def forward_cases(kept: Callable[[Change], bool]) -> list[Case]:
    """The cases of the board, forwards, at the changes that a scheduler knows."""
    return [Case(change, text, backwards=False) for change in changes() if kept(change) for text in EXPRESSIONS]


def quartz_text(expression: str) -> str:
    """The expression with seconds first, and `?` in the day field that is not used."""
    minute, hour, day, month, weekday = expression.split()
    return f"0 {minute} {hour} {day if weekday == '*' else '?'} {month} {weekday if weekday != '*' else '?'}"


def ask_systemd(case: Case) -> list[int] | None:
    """The times that `systemd-analyze calendar` lists; None if it fails, as it does at some gaps at midnight."""
    base = f"{datetime.fromtimestamp(case.start - 1, UTC):%Y-%m-%d %H:%M:%S} UTC"
    text = f"{SYSTEMD_TEXTS[case.expression]} {case.change.zone}"
    command = ["systemd-analyze", "calendar", f"--base-time={base}", f"--iterations={len(right(case)) + 8}", text]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TZ": "UTC"})
    if done.returncode:
        return None
    lines = (line.strip() for line in done.stdout.splitlines())
    shown = [line.split(": ", 1)[1] for line in lines if line.startswith(("Next elapse:", "Iter", "(in UTC)"))]
    times = [datetime.strptime(f"{text} +0000", "%a %Y-%m-%d %H:%M:%S UTC %z").timestamp() for text in shown]
    return [int(t) for t in times if case.start <= t < case.end]


def ask(command: list[str], cases: list[Case], write: Callable[[str], str]) -> Answers:
    """The times that a program writes: one line of zone, expression, start and end for one line of seconds."""
    lines = [f"{case.change.zone}\t{write(case.expression)}\t{case.start}\t{case.end}\n" for case in cases]
    environment = os.environ | {"PYTHONTZPATH": ""}
    done = subprocess.run(command, input="".join(lines), stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def is_in_system(change: Change) -> bool:
    """Whether the zone files of this machine have a change. They can be older than the package."""
    try:
        with (SYSTEM_ZONES / change.zone).open("rb") as file:
            rules = ZoneInfo.from_file(file)
    except OSError:
        return False
    offsets = [datetime.fromtimestamp(t, rules).utcoffset() for t in (change.at - 1, change.at)]
    return offsets == [change.before, change.after]


def is_in_java(java: str) -> Callable[[Change], bool]:
    """A test whether the tz database of a Java machine has a change."""
    wanted = list(changes())
    snippet = "".join(
        f'System.out.println(z("{one.zone}",{one.at - 1}L)+" "+z("{one.zone}",{one.at}L));\n' for one in wanted
    )
    offset = "int z(String n,long t){return java.util.TimeZone.getTimeZone(n).getOffset(t*1000)/1000;}\n"
    done = subprocess.run([java, "-s", "-"], input=offset + snippet, capture_output=True, text=True, check=True)
    pairs = [line for line in done.stdout.splitlines() if line.strip()]
    expected = [f"{int(one.before.total_seconds())} {int(one.after.total_seconds())}" for one in wanted]
    known = {one for one, pair, text in zip(wanted, pairs, expected, strict=True) if pair == text}
    return known.__contains__


def differences(cases: Iterable[Case], answers: Answers) -> dict[str, dict[str, list[int]]]:
    """What differs from the wall clock, by the name of the case."""
    result = {}
    for case, times in zip(cases, answers, strict=True):
        expected = right(case)
        if times is None:
            result[name_of(case)] = {}
        elif times != expected:
            more, less = sorted(set(times) - set(expected)), sorted(set(expected) - set(times))
            result[name_of(case)] = {"also": more, "not": less}
    return result


def name_of(case: Case) -> str:
    """The name of a case in the record."""
    return f"{case.change.zone} {case.change.at} {case.expression}"


@cache
def recorded() -> dict[str, dict]:
    """The record: by scheduler, its version, the changes that it knows, and its differences."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def recorded_answer(peer: str, case: Case) -> list[int] | str | None:
    """What a scheduler answered to a case; None if its tz database does not have the change."""
    entry = recorded()[peer]
    if f"{case.change.zone} {case.change.at}" in entry["unknown"]:
        return None
    different = entry["differences"].get(name_of(case), {"also": [], "not": []})
    if not different:
        return "no answer"
    return sorted(set(right(case)) - set(different["not"]) | set(different["also"]))


def entry_of(version: str, cases: list[Case], answers: Answers) -> dict:
    """The entry of a scheduler in the record."""
    known = {case.change for case in cases}
    unknown = [f"{one.zone} {one.at}" for one in changes() if one not in known]
    return {"version": version, "unknown": unknown, "differences": differences(cases, answers)}


def main() -> int:
    """Ask the schedulers that can be started, and write the record."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--celery", help="Python interpreter of an environment with Celery")
    options.add_argument("--quartz", help="class path with Quartz and slf4j-api")
    given = options.parse_args()
    zoneinfo.reset_tzpath(to=())
    record = dict(recorded()) if RECORD.exists() else {}
    if given.celery:
        cases, script = forward_cases(lambda _: True), str(FOLDER / "celery_times.py")
        version = subprocess.check_output([given.celery, "-c", "import celery; print(celery.__version__)"], text=True)
        record["Celery"] = entry_of(version.strip(), cases, ask([given.celery, script], cases, str))
    if shutil.which("systemd-analyze"):
        cases = forward_cases(is_in_system)
        version = subprocess.check_output(["systemd-analyze", "--version"], text=True).split()[1]
        record["systemd"] = entry_of(version, cases, [ask_systemd(case) for case in cases])
    if given.quartz:
        cases = forward_cases(is_in_java("jshell"))
        command = ["java", "-cp", given.quartz, str(FOLDER / "QuartzTimes.java")]
        jar = next(path for path in given.quartz.split(os.pathsep) if "quartz" in path)
        version = Path(jar).stem.removeprefix("quartz-")
        record["Quartz"] = entry_of(version, cases, ask(command, cases, quartz_text))
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    versions = ", ".join(f"{name} {entry['version']}" for name, entry in record.items())
    print(f"wrote {RECORD}: {versions}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
