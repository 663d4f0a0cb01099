"""The tables and the figures of docs/reference/sentences.md are true."""

import math
import subprocess
import sys

import pytest

from kron.language.sentences.pool import POOL
from kron.language.sentences.read import read_sentence
from kron.language.sentences.scatter import fnv1a, seed_of
from tests.docs.page import ROOT, table

PAGE = ROOT / "docs" / "reference" / "sentences.md"


@pytest.mark.parametrize("row", table(PAGE, "sentences"), ids=lambda row: row[0])
def test_everything_that_the_page_says_you_can_say_is_a_sentence(row):
    assert read_sentence(row[0])


@pytest.mark.req("FUZZY-11-SYNC")
@pytest.mark.parametrize("row", table(PAGE, "modules"), ids=lambda row: row[0])
def test_every_part_of_the_document_has_its_module_and_its_tests(row):
    _, module, tests = row
    assert (ROOT / "src" / "kron" / module).is_file()
    assert '.mark.req("FUZZY-' in (ROOT / "tests" / tests).read_text(encoding="utf-8")


def chance_of_two_equal(things: int, values: int) -> float:
    return 1 - math.exp(-things * (things - 1) / (2 * values))


@pytest.mark.req("FUZZY-C.1-COLLISION")
def test_the_chances_of_a_collision_are_those_of_the_page():
    assert chance_of_two_equal(77_000, 2**32) == pytest.approx(0.5, abs=0.01)
    assert chance_of_two_equal(30, len(POOL)) == pytest.approx(0.5, abs=0.01)
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "from about 30 workflows on, though two equal hashes need some 77,000" in text
    assert "Nothing breaks, the load is only spread a little less well" in text


@pytest.mark.req("FUZZY-CHG-HASH")
def test_the_page_says_that_the_hash_is_recommended_and_which_one_is_used():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "recommends that hash without requiring it (SHOULD, no longer MUST); Kron uses it and no other" in text
    assert seed_of("a") == fnv1a(b"a") == 0xE40C292C


@pytest.mark.slow
@pytest.mark.req("FUZZY-2.1-IMPL")
def test_every_clause_of_the_document_is_claimed_by_a_test():
    report = subprocess.run(
        [sys.executable, "-m", "tests.requirements"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert [line for line in report.stdout.splitlines() if line.startswith("FUZZY-")] == []
    assert "fuzzy-schedule: 315/315" in report.stdout
