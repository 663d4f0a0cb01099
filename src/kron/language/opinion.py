"""Second opinion on a refused text: the dialect that accepts it, or what to write in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kron.errors import KronError, clip
from kron.language.agreement import accept, preferred_order, readings
from kron.language.dialect import TABLE, Dialect
from kron.language.door import Door
from kron.language.fault import Fault
from kron.language.foreign_form import Candidate, Form, matching_forms
from kron.language.modifier_args import read_zone
from kron.language.options import Options
from kron.timing.schedule import Schedule
from kron.timing.zone import UTC_ZONE

MAX_LENGTH = 1_000  # characters; a longer text gets no second opinion
MAX_WORDS_LENGTH = 120  # characters of a reading in words
MAX_READINGS = 2  # readings that one hint names


class Opinion(NamedTuple):
    """Second opinion: the hint, and facts for `details`."""

    hint: str
    details: dict[str, object]


class _Refused(NamedTuple):
    """Refused text, and where it came from."""

    text: str
    dialect: str  # empty if none was named
    options: Options
    door: Door


def with_opinion(fault: Fault, text: str, dialect: str, options: Options, door: Door) -> Fault:
    """Return a fault with the second opinion as another line of its hint.

    Args:
        fault: The fault that refuses the text.
        text: The whole text.
        dialect: Dialect that refused it; empty if none was named.
        options: Options of the reading.
        door: Interface that received the text. The hint is written for its users.
    """
    if len(text) > MAX_LENGTH:
        return fault
    try:
        opinion = _opinion(_Refused(text, dialect, options, door))
    except Exception:  # a hint must never hide the error that it is about
        return fault
    if opinion is None:
        return fault
    hint = fault.hint if opinion.hint == fault.hint else f"{fault.hint}\n{opinion.hint}".lstrip("\n")
    return Fault(fault.code, fault.message, fault.start, fault.end, hint, {**fault.details, **opinion.details})


def _opinion(refused: _Refused) -> Opinion | None:
    groups = readings(refused.text, refused.options, without=refused.dialect)
    if groups:
        names = [name for group in groups for name in group]
        hint = "; ".join(_name_reading(group, refused) for group in groups[:MAX_READINGS])
        return Opinion(hint, {"read_by": names})
    forms = matching_forms(refused.text)
    if any(form.reader == refused.dialect for form, _ in forms):
        return None  # the dialect for such texts refused it: its own error says more
    opinions = (advice for _, candidates in forms for candidate in candidates for advice in _advise(candidate, refused))
    explained = [form for form, _ in forms if form.explanation]
    return next(opinions, None) or (_explain(explained[0], refused) if explained else None)


def _explain(form: Form, refused: _Refused) -> Opinion:
    """Return what a foreign text is, or what the dialect for such texts says about it."""
    dialect = TABLE.get(form.reader)
    if dialect is None:
        return Opinion(form.explanation, {})
    try:
        dialect.read(refused.text, refused.options)
    except (Fault, KronError) as problem:
        return Opinion(f"read as {dialect.name}: {problem.message}; {problem.hint}", {})
    return Opinion(form.explanation, {})


def _name_reading(group: dict[str, Schedule], refused: _Refused) -> str:
    """Return the part of the hint about one meaning: the dialect, the meaning, and how to select the dialect."""
    name, schedule = next(iter(group.items()))
    dialect = TABLE[name]
    action = refused.door.selecting(dialect, refused.options.identity)
    return f'read as {name} this is "{in_words(refused.text, dialect, schedule)}"; {action}'


def in_words(text: str, dialect: Dialect, schedule: Schedule) -> str:
    """Return the meaning of a text in words. A sentence is its own description."""
    from kron.language.english import describe  # deferred: only errors need it

    words = " ".join(text.split()).lower() if dialect.sentences else describe(schedule).rstrip(".")
    return words if len(words) <= MAX_WORDS_LENGTH else words[: MAX_WORDS_LENGTH - 1] + "…"


def _advise(candidate: Candidate, refused: _Refused) -> Iterator[Opinion]:
    """Yield how to write a candidate in the dialect that refused the text, then in the other dialects."""
    if candidate.zone:
        try:
            read_zone(candidate.zone)
        except Fault as fault:
            if fault.hint.startswith("did you mean"):  # otherwise the word is probably not a time zone
                yield Opinion(f"unknown time zone {clip(candidate.zone)!r}: {fault.hint}", {})
            return
    dialects = sorted(preferred_order(), key=lambda dialect: dialect.name != refused.dialect)
    for dialect in dialects:
        yield from _write(candidate, dialect, refused)


def _write(candidate: Candidate, dialect: Dialect, refused: _Refused) -> Iterator[Opinion]:
    """Yield the advice to write a candidate in one dialect, with its zone in the text or given separately."""
    text, options, door = candidate.text, refused.options, refused.door
    selection = door.selecting(dialect, options.identity, current=refused.dialect)
    actions = [selection] if selection else []
    facts = {"text": text, "dialect": dialect.name}
    if "@" in text and not door.modifiers:
        return
    if not candidate.zone:
        if accept(text, dialect, options):
            yield _advice(text, actions, facts)
        return
    with_zone = f"{text} @tz({candidate.zone})"
    if door.modifiers and accept(with_zone, dialect, options):
        yield _advice(with_zone, actions, {**facts, "text": with_zone})
        return
    can_place = door.zone and options.zone == UTC_ZONE
    if can_place and accept(text, dialect, options._replace(zone=read_zone(candidate.zone))):
        yield _advice(text, [*actions, door.placing(candidate.zone)], {**facts, "timezone": candidate.zone})


def _advice(text: str, actions: list[str], facts: dict[str, str]) -> Opinion:
    return Opinion("; ".join([f"write {text}", *actions]), {"write": facts})
