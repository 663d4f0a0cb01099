"""A wrong use of the embedded API is told where the mistake is, what it is, and what to write."""

import re

import pytest

from kron import KronError
from kron.errors import FAMILIES, LanguageError
from tests.embedded import wrong_uses

CASES = wrong_uses.read()
PLAIN_ERRORS = {"has no zone; pass an aware datetime"}  # `ValueError` is what the functions on datetimes document


@pytest.mark.parametrize("case", CASES, ids=str)
def test_wrong_use_is_told_word_for_word(case):
    assert wrong_uses.said(case.error()) == case.expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_wrong_use_is_told_place_reason_and_what_to_write(case):
    error = case.error()
    if isinstance(error, ValueError) and any(text in str(error) for text in PLAIN_ERRORS):
        return
    assert isinstance(error, KronError)
    assert error.code in FAMILIES
    assert error.hint
    assert not error.message.endswith(".")
    words = set(re.findall(r"\w{2,}", case.code))  # the place: a word of the code, or a part of a text
    assert isinstance(error, LanguageError) or words & set(re.findall(r"\w{2,}", str(error)))


def test_there_are_enough_cases_and_none_twice():
    assert len(CASES) >= 40
    assert len({case.code for case in CASES}) == len(CASES)


def test_wrong_uses_cover_the_errors_of_a_python_call():
    """Without those that need a fork, a transaction, a framework or another process."""
    codes = {error.code for case in CASES if isinstance(error := case.error(), KronError)}
    usage = {code for code, family in FAMILIES.items() if family.__name__ == "UsageError"}
    elsewhere = {"FORKED", "TRANSACTION_ENDED", "TWO_SCHEDULERS", "UNDECLARED", "UNKNOWN_PRESET", "USAGE"}
    assert usage - codes == elsewhere
