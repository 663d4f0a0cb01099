"""Findings about a valid text of any dialect: those of `lint`, or those of a sentence."""

from __future__ import annotations

from kron.language.dialect import TABLE
from kron.language.finding import Finding
from kron.language.lint import lint
from kron.language.sentences.read import read_sentence
from kron.timing.schedule import Schedule


def findings_of(text: str, schedule: Schedule, dialect: str, now: int) -> list[Finding]:
    """Return the findings about a valid text.

    Args:
        text: The text, without the name of its dialect.
        schedule: The parsed schedule of the text.
        dialect: Dialect of the text.
        now: Instant from which clock changes and windows are checked, in seconds since 1970-01-01 UTC.
    """
    if TABLE[dialect].sentences:
        return list(read_sentence(text).findings)
    return lint(text, schedule, now, dialect=dialect)
