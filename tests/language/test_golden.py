"""Every diagnostic, word for word, and every code at least once."""

import ast
from pathlib import Path

import pytest

import kron.language
from kron.errors import FAMILIES
from tests.language import golden

CASES = [case for parser in golden.PARSERS for case in golden.read(parser)]
CODES = golden.FOLDER / "codes.txt"
READERS = [
    *("constraints", "dialect", "duration", "field_errors", "fields", "grammar", "kron", "krontab", "manifest"),
    *("modifier_args", "posix", "quoting", "reading", "record", "service", "tokens"),
    *("day_tokens", "moment", "moment_check", "plus", "plus_args"),
]  # sentences have cases of their own
CLASSES = {family.__name__ for family in FAMILIES.values()}
RAISING = {*CLASSES, "Fault", "LanguageError", "_expression_fault", "_fault_at", "_field_fault", "_range_fault"}
RAISING |= {"read_choice", "unknown_choice"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_refused_text_is_told_what_is_wrong(case):
    assert case.answer == case.expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_and_what_would_do(case):
    for error in golden.PARSERS[case.parser](case.input):
        assert error.hint, f"{error.code} has no hint"
        assert not error.message.endswith(".")
        if isinstance(case.input, str) and case.parser in ("posix", "service", "kron"):
            start, end = error.span
            assert 0 <= start <= end <= len(case.input) + 1


def test_there_are_enough_cases_and_none_twice():
    assert len(CASES) >= 150
    assert len({(case.parser, case.written) for case in CASES}) == len(CASES)


def raised():
    """Every code that the source of these parsers can raise."""
    for name in READERS:
        source = (Path(kron.language.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in RAISING and node.args and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value


def test_every_code_is_shown_in_a_case():
    shown = {error.code for case in CASES for error in golden.PARSERS[case.parser](case.input)}
    assert set(raised()) == shown


def test_the_codes_are_a_contract():
    """A code may be added to the file. To change or drop one breaks the programs that look for it."""
    assert sorted(set(raised())) == CODES.read_text(encoding="utf-8").split()
