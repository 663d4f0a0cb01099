"""Cron with names and steps: the baseline of Kron's own dialect, and the service dialect.

The service dialect has five fields or six, the seconds first, and takes 7 for Sunday too.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from kron.core.schedule.cron import Cron
from kron.language.fields import ORDER, Fault, Grammar, cron, find_fault, tokens, words
from kron.language.posix import five, miscount

BASELINE = Grammar("kron", steps=True, names=True)
SERVICE = Grammar("service", steps=True, names=True, seven=True)

Seconds = Literal["first", "last"]
T = TypeVar("T")


def read(text: str, seconds: Seconds = "first") -> Cron:
    """The cron of a text in the service dialect. `seconds` says which of six fields they are."""
    fields = words(text)
    if len(fields) not in (5, 6):
        raise miscount(text, SERVICE, "five or six fields", f"write {ORDER}, and seconds before them if need be")
    try:
        return cron(_seconds_first(fields, seconds), SERVICE)
    except Fault:
        raise find_fault(_seconds_first(tokens(text), seconds), SERVICE) from None


def baseline(text: str) -> Cron:
    """The cron at the head of a text in Kron's own dialect."""
    return five(text, BASELINE, "six fields, the seconds first, are read by the service dialect")


def _seconds_first(fields: list[T], seconds: Seconds) -> list[T]:
    return [fields[5], *fields[:5]] if len(fields) == 6 and seconds == "last" else fields
