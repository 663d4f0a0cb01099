"""The tables of docs/reference/syntax.md are true."""

from datetime import UTC, datetime
from itertools import islice

import pytest

from kron import LanguageError, describe, parse, periods, to_posix, unparse
from tests.docs.page import ROOT, table

PAGE = ROOT / "docs" / "reference" / "syntax.md"
DIALECTS = ("posix", "service", "kron")


def code(text: str, dialect: str) -> str:
    """What a dialect answers: `yes`, or the code of its error."""
    try:
        parse(text, dialect=dialect)
    except LanguageError as error:
        return error.code
    return "yes"


@pytest.mark.parametrize("row", table(PAGE, "dialects"), ids=lambda row: row[0])
def test_each_dialect_answers_as_the_table_says(row):
    text, *answers = row
    assert [code(text, dialect) for dialect in DIALECTS] == answers


@pytest.mark.parametrize("row", table(PAGE, "runs"), ids=lambda row: row[0])
def test_the_days_match_as_the_table_says(row):
    text, days = row
    coming = periods(parse(text, dialect="kron"), after=datetime(2026, 1, 31, 23, tzinfo=UTC))
    assert [period.id[5:10] for period in islice(coming, 4)] == days.split()


@pytest.mark.parametrize("row", table(PAGE, "canonical"), ids=lambda row: row[0])
def test_the_canonical_text_and_the_words_are_as_the_table_says(row):
    text, canonical, words = row
    schedule = parse(text, dialect="kron")
    assert (unparse(schedule), describe(schedule)) == (canonical, words)


@pytest.mark.parametrize("row", table(PAGE, "lowered"), ids=lambda row: row[0])
def test_lowering_is_as_the_table_says(row):
    text, lowered = row
    assert to_posix(parse(text, dialect="kron").cron) == lowered


@pytest.mark.parametrize("row", table(PAGE, "codes"), ids=lambda row: row[0])
def test_each_code_is_raised_by_its_example(row):
    expected, text, where = row
    for dialect in DIALECTS if where == "all" else where.split(", "):
        assert code(text, dialect) == expected
