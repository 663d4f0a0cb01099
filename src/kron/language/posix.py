"""The strict POSIX dialect: five fields of numbers, ranges and lists, and nothing else."""

from __future__ import annotations

from kron.core.schedule.cron import Cron
from kron.language.fields import ORDER, Fault, Grammar, cron, find_fault, macro, tokens, words

GRAMMAR = Grammar("posix")


def read(text: str) -> Cron:
    """The cron of a strict POSIX text."""
    return five(text, GRAMMAR)


def five(text: str, grammar: Grammar, sixth: str = "") -> Cron:
    """The cron of a text of exactly five fields; `sixth` is the hint for one with six."""
    fields = words(text)
    if len(fields) != 5:
        raise miscount(text, grammar, "five fields", sixth if len(fields) == 6 else "")
    try:
        return cron(fields, grammar)
    except Fault:
        raise find_fault(tokens(text), grammar) from None


def miscount(text: str, grammar: Grammar, wanted: str, hint: str) -> Fault:
    """The answer to too few or too many fields: it points at the surplus, or where one is missing."""
    found = tokens(text)
    if found and found[0].text.startswith("@"):
        return macro(found[0], grammar)
    surplus = len(found) > 5
    start = found[5].start if surplus else (found[-1].end if found else 0)
    end = found[-1].end if surplus else min(start + 1, len(text))
    message = f"a schedule has {wanted}, and this has {len(found)}"
    details: dict[str, object] = {"field": "expression", "reason": f"has {len(found)} fields"}
    return Fault("FIELD_COUNT", message, start, end, hint or f"write {ORDER}", details)
