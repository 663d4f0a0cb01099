"""The strict POSIX dialect: five fields of numbers, ranges and lists, and nothing else."""

from __future__ import annotations

from kron.core.schedule.cron import Cron
from kron.language.fault import Fault
from kron.language.fields import cron, find_fault
from kron.language.grammar import Grammar
from kron.language.refusal import miscount
from kron.language.words import tokens, words

GRAMMAR = Grammar("posix")


def read(text: str) -> Cron:
    """The cron of a strict POSIX text."""
    return five(text, GRAMMAR)


def five(text: str, grammar: Grammar) -> Cron:
    """The cron of a text of exactly five fields."""
    fields = words(text)
    if len(fields) != 5:
        raise miscount(text, grammar)
    try:
        return cron(text, fields, grammar)
    except Fault:
        raise find_fault(text, tokens(text), grammar) from None
