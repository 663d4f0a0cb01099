"""TLC finds every promise of the protocol kept, and one of them broken wherever a protection is taken away."""

import re
import subprocess
import sys

import pytest
from docs.protocol import check

QUESTIONS = {one.name: one for one in check.configurations()}
BROKEN = [one for one in QUESTIONS.values() if one.expected != check.HOLDS]
MODEL = (check.HERE / "Kron.tla").read_text(encoding="utf-8")
PAGE = (check.HERE / "README.md").read_text(encoding="utf-8")


def constants(section: str) -> set[str]:
    """The constants of the model from a comment on, up to the variables."""
    after = MODEL.split(f"\\* {section}\n", 1)[1].split("VARIABLES", 1)[0]
    return set(re.findall(r"^    (\w+),? +\\\*", after, re.MULTILINE))


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one.name)
def test_what_breaks_a_promise_differs_in_one_thing_from_what_keeps_it(one):
    like = QUESTIONS[one.like]
    assert like.expected == check.HOLDS
    assert one.expected in like.promises
    differing = [name for name, value in one.constants.items() if value != like.constants[name]]
    assert len(differing) + (one.spec != like.spec) == 1


def test_every_promise_can_be_broken():
    kept = {promise for one in QUESTIONS.values() if one.expected == check.HOLDS for promise in one.promises}
    assert kept - {one.expected for one in BROKEN} == {"TypeOK"}


def test_every_protection_is_taken_away():
    assert constants("the protections") <= {name for one in QUESTIONS.values() for name in one.change}


def test_every_constant_has_a_value_and_no_other_is_given():
    for one in check.configurations(long=True):
        assert set(one.constants) == constants("the world")


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ("Model checking completed. No error has been found.\n9 states generated, 7 distinct states found", "holds"),
        ("Error: Invariant NoPeriodLost is violated.\n9 states generated, 7 distinct states found", "NoPeriodLost"),
        ("Error: Action property line 3, col 1 to line 3, col 9 of module Kron is violated.", "CursorGrows"),
        ("Error: Unknown operator: `Nonsense'.", "no verdict: Unknown operator: `Nonsense'."),
        ("", "no verdict: TLC said nothing"),
    ],
)
def test_what_tlc_prints_is_understood(output, verdict):
    assert check.read(output, QUESTIONS["no compare"])[0] == verdict


def test_an_unexpected_answer_is_pointed_at():
    row = check.table([QUESTIONS["no compare"]], {"no compare": check.Answer("holds", 1234)}).splitlines()[1]
    assert row.split() == ["no", "compare", "CursorGrows", "holds", "<--", "1,234"]


@pytest.mark.campaign
@pytest.mark.skipif(check.missing() is not None, reason=str(check.missing()))
def test_tlc_answers_as_expected_and_as_the_page_shows():
    done = subprocess.run([sys.executable, check.__file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout in PAGE, f"the page shows another table than this:\n{done.stdout}"
