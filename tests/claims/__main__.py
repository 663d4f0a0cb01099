"""Check that claims are not empty: `make claims`, or `python -m tests.claims [--slow] [ID...]`.

For each patch of `patches.py` a copy of src is made without the behavior that a requirement asks for. The tests that
claim the requirement must fail on that copy: by what they assert, not because the copy cannot be imported or called.
Prints one line for each patch, then a verdict. With `--slow`, the slow tests are asked, such as those on a real
Kubernetes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.claims.only import MARK
from tests.claims.patches import PATCHES, Patch
from tests.conftest import known_requirements

ROOT = Path(__file__).parents[2]
PARALLEL = 2
LIMIT = 900  # seconds for the tests of one claim
SLOW, FAST = "--slow", "not slow and not campaign"
CRASHES = {"TypeError", "AttributeError", "NameError", "UnboundLocalError", "ImportError", "SyntaxError", "Hang"}


class Finding(NamedTuple):
    """What the tests said to one patch."""

    patch: Patch
    word: str  # `proven`, or what is wrong
    detail: str

    @property
    def proven(self) -> bool:
        """Whether the claim is not empty."""
        return self.word == "proven"


def main(words: list[str]) -> int:
    ids = [word for word in words if word != SLOW]
    ask = partial(_run, marks="slow" if SLOW in words else FAST)
    wanted = [patch for patch in PATCHES if not ids or patch.id in ids]
    unknown = sorted({*(patch.id for patch in PATCHES), *ids} - known_requirements().keys())
    missing = sorted(set(ids) - {patch.id for patch in wanted})
    if unknown or missing:
        print(f"no such requirement: {unknown}; no patch for: {missing}", file=sys.stderr)
        return 2
    whole = ask(ROOT / "src", sorted({patch.id for patch in wanted}), [], limit=LIMIT * 4)
    if whole["failed"] or not whole["tests"]:
        print(f"FAIL: without any patch, {whole['failed']} fails: {whole['error']} {whole['message']}")
        return 1
    with ThreadPoolExecutor(PARALLEL) as pool:
        findings = []
        for finding in pool.map(partial(check, ask=ask), wanted):
            findings.append(finding)
            print(f"{finding.word:8} {finding.patch.id:26} {finding.patch.path:34} {finding.detail}", flush=True)
    proven = sum(finding.proven for finding in findings)
    print(f"{'PASS' if proven == len(findings) else 'FAIL'}: {proven} of {len(findings)} patches are noticed")
    return 0 if proven == len(findings) else 1


def check(patch: Patch, ask: Callable[..., dict[str, Any]]) -> Finding:
    """Whether the tests that claim the requirement notice the patch."""
    with TemporaryDirectory(prefix="claims-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy)  # with its compiled files, which stay valid
        file = copy / "kron" / patch.path
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if text.count(patch.old) != 1:
            return Finding(patch, "STALE", f"the text occurs {text.count(patch.old)} times: {patch.old!r}")
        file.write_text(text.replace(patch.old, patch.new), encoding="utf-8")
        modules = [f"kron.{patch.path[:-3].replace('/', '.')}"] if patch.path.endswith(".py") else []
        return _judged(patch, ask(copy, [patch.id], modules))


def _judged(patch: Patch, told: dict[str, Any]) -> Finding:
    if told["failed"] is None:
        return Finding(patch, "EMPTY", f"{told['tests']} tests claim it, and none fails")
    if told["error"] in CRASHES:
        return Finding(patch, "CRASH", f"{told['failed']}: {told['error']} {told['message']}")
    return Finding(patch, "proven", f"{told['failed']}".rpartition("/")[2])


def _run(source: Path, ids: list[str], modules: list[str], *, marks: str, limit: int = LIMIT) -> dict[str, Any]:
    """Run the tests that claim those ids against that source."""
    files = _files(ids)
    if not files:
        return {"tests": 0, "failed": None, "error": None, "message": ""}
    words = [sys.executable, "-m", "pytest", "-x", "-m", marks, "-p", "tests.claims.only"]
    words += [f"--claim={id}" for id in ids] + [f"--patched={module}" for module in modules] + files
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"tests": 1, "failed": "pytest", "error": "Hang", "message": f"not finished after {limit} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not lines:
        return {"tests": 0, "failed": "pytest", "error": "ImportError", "message": (done.stdout + done.stderr)[-300:]}
    return json.loads(lines[-1].removeprefix(MARK))


def _files(ids: list[str]) -> list[str]:
    """The test files that name one of those ids."""
    named = re.compile("|".join(rf"{re.escape(id)}(?![\w.-])" for id in ids))
    files = (file for file in (ROOT / "tests").rglob("test_*.py") if named.search(file.read_text(encoding="utf-8")))
    return sorted(str(file.relative_to(ROOT)) for file in files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
