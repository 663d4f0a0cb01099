"""Refusal: why a text is invalid, where, and texts that are valid instead."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

from kron.apps.dashboard.sentence import sentence
from kron.apps.dashboard.trial import MAX_TEXT_LENGTH, Question, read_question
from kron.errors import KronError, LanguageError
from kron.language.agreement import wall_times
from kron.timing.schedule import Schedule

MAX_OFFERS = 3
_SUGGESTION = re.compile(r"did you mean '([^']{1,100})'\?")


class Marked(NamedTuple):
    """Text in three parts, of which the middle one is underlined."""

    before: str
    marked: str
    after: str


class Offer(NamedTuple):
    """Valid question in place of an invalid one."""

    text: str
    dialect: str


class Refusal(NamedTuple):
    """Error about a question."""

    code: str
    message: str
    hints: list[str]
    marked: Marked | None  # None: the error is not about a part of the text
    offers: list[Offer]


def refusal_of(error: KronError, question: Question) -> Refusal:
    """Return the error for people, with texts that the hint names and that are valid."""
    place = error.place if isinstance(error, LanguageError) else None
    marked = marked_text(place.text, place.start, place.end) if place else None
    offers = _valid_offers(_candidates(error, question), question)
    hints = [sentence(line) for line in error.hint.split("\n")] if error.hint else []
    return Refusal(error.code, sentence(error.message), hints, marked, offers[:MAX_OFFERS])


def marked_text(text: str, start: int, end: int) -> Marked:
    """Return a text with a part underlined. A place without a character is that after the text: a space is marked."""
    text = text[:MAX_TEXT_LENGTH]
    return Marked(text[:start], text[start:end] or " ", text[end:])


def _candidates(error: KronError, question: Question) -> list[Offer]:
    """Return the questions that the hint proposes: another word in the text, or another dialect."""
    candidates = list[Offer]()
    suggestion = _SUGGESTION.search(error.hint)
    if suggestion and isinstance(error, LanguageError) and error.place.text == question.text:
        start, end = error.span
        candidates.append(Offer(question.text[:start] + suggestion[1] + question.text[end:], question.dialect))
    readers = error.details.get("read_by")
    if isinstance(readers, list):
        candidates += [Offer(question.text, str(dialect)) for dialect in readers]
    return candidates


def _valid_offers(candidates: list[Offer], question: Question) -> list[Offer]:
    """Return the candidates that are valid, and of those that mean the same the first one."""
    offers = dict[Schedule, Offer]()
    for offer in candidates:
        with suppress(KronError):
            reading = read_question(question._replace(text=offer.text, dialect=offer.dialect))
            offers.setdefault(wall_times(reading.schedule), offer)
    return list(offers.values())
