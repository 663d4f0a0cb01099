"""Every promise of the page is shown by a test that exists, and every fail point stands in it."""

import re

import pytest

from kron.engine.failpoint import POINTS
from tests.docs.page import ROOT, table

PAGE = ROOT / "docs" / "evaluate" / "guarantees.md"
SHOWN = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))))
COMMANDS = sorted(set(re.findall(r"`make ([\w-]+)`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "name"), SHOWN)
def test_the_test_of_a_promise_exists(file, name):
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_exists(command):
    assert f"\n{command}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_points_are_those_that_can_be_asked_for():
    assert {row[0]: row[1] for row in table(PAGE, "points")} == POINTS
