"""`make help` lists every target of the Makefile."""

import os
import re
import shutil
import subprocess

import pytest

from tests.docs.page import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PHONY = {name for line in re.findall(r"^\.PHONY:(.*)$", MAKEFILE, re.MULTILINE) for name in line.split()}
TARGETS = re.findall(r"^([\w-]+):(?! \w+ = )", MAKEFILE, re.MULTILINE)  # in the order of the file

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def listed(*words: str) -> list[str]:
    """The lines that make prints, independent of a make that runs this test."""
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.splitlines()


def test_help_lists_every_phony_target():
    assert {line.split()[0] for line in listed("help")} == PHONY


def test_help_keeps_the_order_of_the_file():
    assert [line.split()[0] for line in listed("help")] == TARGETS


def test_help_aligns_the_descriptions():
    column = max(map(len, PHONY)) + 2
    for line in listed("help"):
        assert line[:column] == line.split()[0].ljust(column), line
        assert line[column:].strip() == line[column:] != "", line


def test_make_without_a_target_prints_the_help():
    assert listed() == listed("help")
