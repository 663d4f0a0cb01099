"""Timing, language and rules are pure: no clock, no dice, no I/O, and no wall-clock arithmetic outside of zone.py.

Every file is read as a syntax tree. There is one exception, and it is written down here: timing/tzdata.py reads the
files of the tz database, and the variable that names their folder. The tz database is an input to every decision, like
the text; docs/explanation/time-zones.md says so.
"""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "kron"
FILES = sorted(path for part in ("timing", "language", "rules") for path in (SOURCE / part).rglob("*.py"))
ZONE = SOURCE / "timing" / "zone.py"
TZDATA = SOURCE / "timing" / "tzdata.py"
PERIOD = SOURCE / "timing" / "period.py"

ALLOWED = {
    "__future__",
    "bisect",
    "calendar",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "itertools",
    "json",
    "kron",
    "math",
    "re",
    "typing",
    "unicodedata",
}
MORE = {
    "rules/delay.py": {"zlib"},  # a checksum spreads retries
    "rules/load.py": {"array"},  # counters of 11,520 minutes
    "rules/state.py": {"types"},  # an empty mapping that cannot be changed
    "timing/zone.py": {"datetime"},
    # the tz database is the one thing that is read from the machine
    "timing/tzdata.py": {"contextlib", "importlib", "io", "os", "pathlib", "struct", "zoneinfo"},
    "timing/period.py": {"datetime"},  # a datetime comes in by the door, and only its type is named
    "language/workflows/yamltext.py": {"yaml"},  # it is given a text, not a file
}
NEVER_CALLED = {
    "__import__",
    "breakpoint",
    "compile",
    "eval",
    "exec",
    "exit",
    "globals",
    "hash",
    "id",
    "input",
    "open",
    "print",
    "vars",
}
WALL_CLOCK = {"astimezone", "fromisoformat", "fromtimestamp", "timestamp", "total_seconds", "utcoffset"}
CLOCKS = {"now", "today", "utcnow", "time", "monotonic", "perf_counter"}


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name(path):
    return str(path.relative_to(SOURCE))


def imported(path):
    """The top-level modules that a file imports, wherever in it."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module.partition(".")[0]


def test_there_is_something_to_look_at():
    assert {"timing/decision.py", "timing/zone.py", "timing/schedule/sampling.py", "language/record.py"} <= {
        *map(name, FILES)
    }


@pytest.mark.parametrize("path", FILES, ids=name)
def test_nothing_waits(path):
    waits = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
    assert not [node for node in ast.walk(tree(path)) if isinstance(node, waits)]
    assert not [c for c in ast.walk(tree(path)) if isinstance(c, ast.comprehension) and c.is_async]


@pytest.mark.req("KSPEC-IN-NOW", "KSPEC-DIST-DET")
@pytest.mark.parametrize("path", FILES, ids=name)
def test_only_pure_modules_are_imported_so_that_now_can_only_come_from_outside(path):
    """No time, random, os, io, socket, pathlib, subprocess, asyncio, logging, threading, pickle, secrets."""
    assert set(imported(path)) <= ALLOWED | MORE.get(name(path), set())


@pytest.mark.req("KSPEC-IN-NOW")
@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_clock_is_asked_and_nothing_is_opened_printed_or_evaluated(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in NEVER_CALLED, f"line {node.lineno}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in CLOCKS or _is_own(node), f"line {node.lineno}"


def _is_own(node):
    """`period.time` and `draft.now` are ours, and were told from outside."""
    own = {"time": ("self", "period"), "now": ("draft",)}
    return isinstance(node.value, ast.Name) and node.value.id in own.get(node.attr, ())


@pytest.mark.parametrize("path", FILES, ids=name)
def test_nothing_global_is_changed_while_it_runs(path):
    """A `global` statement would make an answer depend on the questions before it."""
    assert not [node for node in ast.walk(tree(path)) if isinstance(node, ast.Global)]


@pytest.mark.parametrize("path", [path for path in FILES if path != ZONE], ids=name)
def test_no_wall_clock_arithmetic_outside_of_zone(path):
    """Elsewhere a datetime is at most the name of a type, and only period.py has that."""
    nodes = list(ast.walk(tree(path)))
    annotations = {id(part) for node in nodes for annotation in _annotations(node) for part in ast.walk(annotation)}
    given = {
        arg.arg
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        for arg in (*node.args.args, *node.args.kwonlyargs)
    }
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in ("datetime", "timedelta", "timezone", "ZoneInfo", "zoneinfo"):
            if node.id in given:  # a parameter: a name or an offset, as text
                continue
            if path == TZDATA and node.id == "zoneinfo":  # it reads the rules of a zone, and computes nothing with them
                continue
            assert path == PERIOD, f"line {node.lineno}"
            assert id(node) in annotations, f"line {node.lineno}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in WALL_CLOCK, f"line {node.lineno}"


def _annotations(node):
    if isinstance(node, ast.FunctionDef):
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        return [a for a in (node.returns, *(argument.annotation for argument in arguments)) if a]
    return [node.annotation] if isinstance(node, ast.AnnAssign) else []


def test_the_rules_would_find_what_they_forbid(tmp_path):
    """The tests above can fail: each kind of sin, committed once."""
    sinner = tmp_path / "sinner.py"
    sinner.write_text("import os.path\nfrom random import random\nasync def f():\n    await open('x')\n")
    assert set(imported(sinner)) - ALLOWED == {"os", "random"}
    with pytest.raises(AssertionError):
        test_nothing_waits(sinner)
    with pytest.raises(AssertionError):
        test_no_clock_is_asked_and_nothing_is_opened_printed_or_evaluated(sinner)
    sinner.write_text("def f(d: datetime) -> object:\n    return datetime.now()\n")
    with pytest.raises(AssertionError):
        test_no_clock_is_asked_and_nothing_is_opened_printed_or_evaluated(sinner)
    with pytest.raises(AssertionError):
        test_no_wall_clock_arithmetic_outside_of_zone(sinner)
