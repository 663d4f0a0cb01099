"""`kron translate`: translate a sentence to a Kron line, and a cron line to the sentence that can replace it."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import usage_error
from kron.errors import InvalidSchedule
from kron.language import parse
from kron.language.english import describe
from kron.language.fault import Fault
from kron.language.sentences import grammar
from kron.language.sentences.placeholder import is_placeholder, read_placeholder
from kron.language.sentences.replacement import sentence_for
from kron.language.sentences.scatter import resolve, scatter
from kron.language.sentences.translate import kron_line


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Translate in the direction that the text implies."""
    try:
        rows = _rows(args.text, args.identity)
    except Fault as fault:
        raise fault.within(args.text) from None
    show_rows(rows, args.output, screen)
    return 0


def show_rows(rows: dict[str, str], output: str, screen: Screen) -> None:
    """Print named values, as text or as one JSON object."""
    if output == "json":
        screen.json({name.replace(" ", "_"): value for name, value in rows.items()})
        return
    for name, value in rows.items():
        screen.line(f"{screen.paint(screen.out, 'dim', name.ljust(11))} {value}")


def _rows(text: str, identity: str | None) -> dict[str, str]:
    if is_placeholder(text):
        return placeholder_rows(text.strip(), identity)
    looks_like_cron = text.lstrip()[:1] in tuple("0123456789*")
    return _cron_rows(text.strip()) if looks_like_cron else _sentence_rows(text, identity)


def placeholder_rows(text: str, identity: str | None) -> dict[str, str]:
    """Return the cron line of a placeholder for one identity.

    Raises:
        UsageError: No identity is given.
        Fault: The text is not a valid placeholder.
    """
    plan = read_placeholder(text)
    if not identity:
        raise usage_error("a placeholder needs the identity of the job", "add --identity NAME")
    resolved = resolve(plan, identity)
    words = describe(parse(resolved.cron, dialect="kron"))
    return {"placeholder": text, "cron": resolved.cron, "in words": words, "because": resolved.why}


def _sentence_rows(text: str, identity: str | None) -> dict[str, str]:
    sentence = grammar.read(text)
    line = kron_line(sentence)
    rows = {"sentence": text.strip(), "placeholder": sentence.placeholder, "kron": line}
    rows["in words"] = describe(parse(line, dialect="kron"))
    if identity:
        scattered = scatter(sentence, identity)
        rows |= {"cron": scattered.cron, "because": scattered.why}
    return rows


def _cron_rows(text: str) -> dict[str, str]:
    words = describe(parse(text, dialect="kron"))
    sentence = sentence_for(text)
    if not sentence:
        hint = "use days, weekdays, weeks, hours and minutes; sentences have no lists, months or days of the month"
        raise InvalidSchedule("NO_SENTENCE", f"no sentence can express {text!r}", hint=hint)
    return {"cron": text, "in words": words, "sentence": sentence, "kron": kron_line(grammar.read(sentence))}
