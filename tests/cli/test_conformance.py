"""The conformance report: all 62 tests of the document by id, and the level that they allow to declare."""

from collections import Counter
from dataclasses import replace

import pytest

from kron.apps.cli.conformance import Check, conform
from kron.apps.cli.conformance.fuzzy import CHECKS, EVIDENCE, report
from tests.conftest import REQUIREMENTS, known_requirements

# Section 10.3, the checklist: level -> tests that it marks as required.
CHECKLIST = {
    "1": "SYNTAX-001 SYNTAX-002 SYNTAX-003 SYNTAX-004 SYNTAX-005 SYNTAX-007 SCATTER-001 SCATTER-002",
    "2": "TIME-001 TIME-002 TIME-003 TIME-004 TIME-005 TIME-006 TIME-007 TIME-008 TIME-009"
    " CONSTRAINT-001 CONSTRAINT-002 CONSTRAINT-004 HOURLY-001 HOURLY-002 HOURLY-003",
    "3": "TZ-001 TZ-002 TZ-003 TZ-004 TZ-005 TZ-006 TZ-007 INTERVAL-001 INTERVAL-002",
    "1-3": "SCATTER-004 SCATTER-005 SCATTER-006 SCATTER-007 SCATTER-008 SCATTER-009 SCATTER-011 SCATTER-012"
    " SCATTER-015 SCATTER-016 CRON-001 CRON-002 CRON-003 CRON-004 CRON-005 CRON-006",
    "2-3": "SCATTER-013 SCATTER-014",
}


@pytest.mark.parametrize(
    "check", [pytest.param(check, marks=pytest.mark.req(f"FUZZY-{check.id}"), id=check.id) for check in CHECKS]
)
def test_the_document_s_own_test_passes(check):
    compared = list(check.compares())
    assert compared  # it looks at something
    assert [pair for pair in compared if pair[0] != pair[1]] == []


@pytest.mark.req("FUZZY-10.2-COUNT")
def test_there_are_62_of_them():
    families = Counter(check.id.split("-")[1] for check in CHECKS)
    expected = {"SYNTAX": 7, "TIME": 10, "CONSTRAINT": 7, "TZ": 8, "HOURLY": 3, "INTERVAL": 5, "SCATTER": 16, "CRON": 6}
    assert families == expected
    assert [f"FUZZY-{check.id}" for check in CHECKS] == [id for id in known_requirements() if id.startswith("FUZZY-T-")]
    assert set(EVIDENCE) == {check.id for check in CHECKS}


@pytest.mark.req("FUZZY-10.3-CHECKLIST")
def test_the_levels_are_those_of_the_checklist():
    levels = {check.id: check.levels for check in CHECKS}
    for level, tests in CHECKLIST.items():
        assert {test: levels[f"T-{test}"] for test in tests.split()} == dict.fromkeys(tests.split(), level)


@pytest.mark.req(
    "FUZZY-10.4-SUITE", "FUZZY-10.4-REPORT", "FUZZY-10.4-LEVEL", "FUZZY-2.3-L1", "FUZZY-2.3-L2", "FUZZY-2.3-L3"
)
@pytest.mark.req("FUZZY-2.1-IMPL")
def test_this_installation_conforms_at_level_3():
    found = report()
    assert (found.passed, len(found.results), found.level) == (62, 62, 3)


@pytest.mark.req("FUZZY-10.1-LEVELS", "FUZZY-2.3-L1", "FUZZY-2.3-L2", "FUZZY-2.3-L3")
def test_a_level_needs_all_of_its_tests_and_those_below():
    def broken(id):
        fail = [replace(check, compares=lambda: [(1, 2)]) if check.id == id else _pass(check) for check in CHECKS]
        return conform("x", fail).level

    assert broken("T-SYNTAX-006") == 0  # though the checklist leaves it out
    assert broken("T-CRON-001") == 0
    assert broken("T-TIME-010") == 1
    assert broken("T-SCATTER-013") == 1
    assert broken("T-TZ-008") == 2
    assert broken("T-INTERVAL-005") == 2
    assert broken("none") == 3


def _pass(check):
    return replace(check, compares=lambda: [(1, 1)])


def test_a_check_that_stumbles_has_failed_and_says_over_what():
    (result,) = conform("x", [Check("T", 1, 1, "says", lambda: [(1 // 0, 1)])]).results
    assert not result.passed
    assert "ZeroDivisionError" in result.fault
    (result,) = conform("x", [Check("T", 1, 1, "says", lambda: [("a", "b")])]).results
    assert result.fault == "found 'a', not 'b'"


@pytest.mark.req("FUZZY-2.2-RFC2119")
def test_the_clauses_are_kept_by_the_words_of_rfc_2119():
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()[1:]
    strengths = Counter(line.split("\t")[3] for line in lines if line.startswith("FUZZY-"))
    assert set(strengths) == {"MUST", "SHOULD", "MAY", "FACT", "EXAMPLE"}
    assert strengths["MUST"] > strengths["SHOULD"] > strengths["MAY"] > 0
