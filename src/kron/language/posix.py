"""The strict POSIX dialect: five fields of numbers, ranges and lists only."""

from __future__ import annotations

from kron.language.fault import Fault
from kron.language.field_errors import miscount
from kron.language.fields import cron, find_fault
from kron.language.grammar import Grammar
from kron.language.options import Options
from kron.language.tokens import tokens, words
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron

GRAMMAR = Grammar("posix")


def read_schedule(text: str, options: Options) -> Schedule:
    """Parse a text in the posix dialect into a schedule."""
    return Schedule(read_five_fields(text, GRAMMAR), options.zone, policy=options.policy)


def read(text: str) -> Cron:
    """Parse a text in the posix dialect."""
    return read_five_fields(text, GRAMMAR)


def read_five_fields(text: str, grammar: Grammar) -> Cron:
    """Parse a text of exactly five fields."""
    fields = words(text)
    if len(fields) != 5:
        raise miscount(text, grammar)
    try:
        return cron(text, fields, grammar)
    except Fault:
        raise find_fault(text, tokens(text), grammar) from None
