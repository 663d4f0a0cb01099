"""`kron translate`: translate a sentence to a Kron line, and a cron line to the sentence that can replace it."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.errors import InvalidSchedule
from kron.language import parse
from kron.language.english import describe
from kron.language.fault import Fault
from kron.language.sentences import grammar
from kron.language.sentences.replacement import sentence_for
from kron.language.sentences.scatter import scatter
from kron.language.sentences.translate import kron_line


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Translate in the direction that the text implies."""
    try:
        looks_like_cron = args.text.lstrip()[:1] in tuple("0123456789*")
        rows = _cron_rows(args.text.strip()) if looks_like_cron else _sentence_rows(args.text, args.identity)
    except Fault as fault:
        raise fault.within(args.text) from None
    if args.output == "json":
        screen.json({name.replace(" ", "_"): value for name, value in rows.items()})
    else:
        for name, value in rows.items():
            screen.line(f"{screen.paint(screen.out, 'dim', name.ljust(11))} {value}")
    return 0


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
