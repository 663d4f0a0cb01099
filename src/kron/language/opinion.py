"""Second opinion on a refused text: the dialect that accepts it, or what to write in its place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from kron.errors import KronError, clip
from kron.language.agreement import accept, preferred_order, readings
from kron.language.candidate import Candidate
from kron.language.dialect import TABLE, Dialect
from kron.language.door import Door
from kron.language.fault import Fault
from kron.language.foreign.losses import changes_differ
from kron.language.foreign_form import Form, matching_forms
from kron.language.modifier_args import read_zone
from kron.language.options import Options
from kron.language.plus_text import write_dst
from kron.timing.schedule import Head, Schedule
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.dst import WALL
from kron.timing.zone import UTC_ZONE

MAX_LENGTH = 1_000  # characters; a longer text gets no second opinion
MAX_WORDS_LENGTH = 120  # characters of a reading in words
MAX_READINGS = 2  # readings that one hint names
_SINCE = 1_767_225_600  # 2026-01-01; a hint does not look at clock changes before


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


@lru_cache(256)  # many lines of a file can be refused for the same schedule
def _opinion(refused: _Refused) -> Opinion | None:
    groups = readings(refused.text, refused.options, without=refused.dialect)
    if groups:
        names = [name for group in groups for name in group]
        hint = "; ".join(_name_reading(group, refused) for group in groups[:MAX_READINGS])
        return Opinion(hint, {"read_by": names})
    forms = matching_forms(refused.text)
    if any(form.reader == refused.dialect for form, _ in forms):
        return None  # the dialect for such texts refused it: its own error says more
    explained = [form for form, _ in forms if form.explanation]
    return next(_opinions(forms, refused), None) or (_explain(explained[0], refused) if explained else None)


def _opinions(forms: list[tuple[Form, list[Candidate]]], refused: _Refused) -> Iterator[Opinion]:
    """Yield what to write, by form. Of the candidates of a form, one in the dialect that refused the text is first."""
    for _, candidates in forms:
        opinions = [opinion for candidate in candidates for opinion in _advise(candidate, refused)]
        yield from sorted(opinions, key=lambda opinion: _dialect_to_write(opinion) != refused.dialect)


def _dialect_to_write(opinion: Opinion) -> str:
    facts = opinion.details.get("write")
    return str(facts["dialect"]) if isinstance(facts, dict) else ""


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
    dialects = [dialect for dialect in preferred_order() if candidate.dialect in ("", dialect.name)]
    readings = (accept(candidate.text, dialect, refused.options) for dialect in dialects)
    meaning = next((schedule.cron for schedule in readings if schedule), None)
    for dialect in sorted(dialects, key=lambda dialect: dialect.name != refused.dialect) if meaning else ():
        yield from _write(candidate, meaning, dialect, refused)


def _write(candidate: Candidate, meaning: Head | None, dialect: Dialect, refused: _Refused) -> Iterator[Opinion]:
    """Yield the advice to write a candidate in one dialect, if the dialect gives it this meaning."""
    options, door = refused.options, refused.door
    selection = door.selecting(dialect, options.identity, current=refused.dialect)
    for text, zone in _spellings(candidate, refused):
        schedule = accept(text, dialect, options._replace(zone=read_zone(zone)) if zone else options)
        if schedule is None or schedule.cron != meaning or not _follows_clock(schedule, candidate):
            continue
        actions = [action for action in (selection, door.placing(zone) if zone else "") if action]
        facts = {"text": text, "dialect": dialect.name} | ({"timezone": zone} if zone else {})
        yield Opinion("; ".join([f"write {text}", *actions]), {"write": facts})
        return


def _spellings(candidate: Candidate, refused: _Refused) -> Iterator[tuple[str, str]]:
    """Yield the texts of a candidate, each with the zone to give separately: with its zone, and with its clock rule."""
    door, rule = refused.door, f" @dst({write_dst(candidate.dst)})"
    for text in (candidate.text, candidate.text + rule):
        if "@" in text and not door.modifiers:
            continue
        if not candidate.zone:
            yield text, ""
            continue
        if door.modifiers:
            yield f"{text} @tz({candidate.zone})", ""
        if door.zone and refused.options.zone == UTC_ZONE:
            yield text, candidate.zone


def _follows_clock(schedule: Schedule, candidate: Candidate) -> bool:
    """Return whether a schedule does what the foreign text does when the clocks change."""
    zone, head = schedule.zone, schedule.cron
    if zone.fixed is not None or not isinstance(head, Cron):
        return True
    is_free = candidate.dst == WALL  # the foreign text has no rule of its own
    rule = candidate.dst.applied_to(head)
    return not candidate.elapsed and (is_free or not changes_differ(head, zone, schedule.terms.dst, rule, _SINCE))
