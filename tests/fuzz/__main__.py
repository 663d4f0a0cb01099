"""Fuzz every parser for its share of the time: `make fuzz`, or `python -m tests.fuzz <seconds>`.

Prints the executions of each target and, last, the verdict; the exit status is 1 if something was found. What
was found is in build/fuzz, with the log of the run. `python -m tests.fuzz.harness <target> <file>` repeats it.
"""

import re
import subprocess
import sys
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from tests.fuzz.targets import TARGETS
from tests.fuzz.words import WORDS, seeds

FOLDER = Path("build/fuzz")


class Run(NamedTuple):
    """What came of a target: whether something was found, and how many texts were tried."""

    target: str
    found: bool
    executions: int
    log: Path


def fuzz(target: str, seconds: int) -> Run:
    """Run one target in a process of its own."""
    folder = FOLDER / target
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    for number, text in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(text.encode("utf-8", "surrogatepass"))
    dictionary = folder / "words.dict"
    dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS[target]), encoding="ascii")
    log = folder / "log.txt"
    options = [f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", "-print_final_stats=1"]
    command = [sys.executable, "-m", "tests.fuzz.harness", target, *options, f"-dict={dictionary}"]
    with log.open("wb") as file:
        status = subprocess.run(
            [*command, f"-artifact_prefix={folder}/", str(corpus)], stderr=file, stdout=file
        ).returncode
    executions = re.search(r"number_of_executed_units: *([0-9]+)", log.read_text(errors="replace"))
    return Run(target, status != 0, int(executions[1]) if executions else 0, log)


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass"))


def main() -> int:
    """Fuzz all, and say what came of it."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 1_200
    rmtree(FOLDER, ignore_errors=True)
    runs = []
    for target in TARGETS:
        run = fuzz(target, max(1, seconds // len(TARGETS)))
        verdict = f"FOUND something, see {run.log}" if run.found else "ok"
        print(f"{run.target:8} {run.executions:>10} executions  {verdict}", flush=True)
        runs.append(run)
    bad = [run.target for run in runs if run.found or not run.executions]
    total = sum(run.executions for run in runs)
    print(f"fuzz: {'FAILED in ' + ', '.join(bad) if bad else 'nothing found'}; {total} executions in {seconds} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
