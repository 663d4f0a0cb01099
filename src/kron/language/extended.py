"""Cron with names and steps: the baseline of Kron's own dialect, and the service dialect.

The service dialect has five fields or six, the seconds first, and takes 7 for Sunday too.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from kron.core.schedule.cron import Cron
from kron.errors import KronError
from kron.language.fault import Fault
from kron.language.fields import cron, find_fault
from kron.language.grammar import Grammar
from kron.language.posix import five
from kron.language.refusal import miscount
from kron.language.words import tokens, words

BASELINE = Grammar("kron", steps=True, names=True)
SERVICE = Grammar("service", steps=True, names=True, seven=True)

Seconds = Literal["first", "last"]
T = TypeVar("T")


def read(text: str, seconds: Seconds = "first") -> Cron:
    """The cron of a text in the service dialect. `seconds` says which of six fields they are."""
    if seconds not in ("first", "last"):  # a setting of the deployment, and so not always a literal
        message = f"there is no place {seconds!r} for the seconds"
        raise KronError("UNKNOWN_SECONDS", message, hint="they come first or last of six fields")
    fields = words(text)
    if len(fields) not in (5, 6):
        raise miscount(text, SERVICE, most=6)
    try:
        return cron(text, _seconds_first(fields, seconds), SERVICE)
    except Fault:
        raise find_fault(text, _seconds_first(tokens(text), seconds), SERVICE) from None


def baseline(text: str) -> Cron:
    """The cron at the head of a text in Kron's own dialect."""
    return five(text, BASELINE)


def seconds_last(text: str) -> str:
    """A text in the service dialect that has its seconds first, if any, with the seconds last."""
    fields = text.split()
    return " ".join([*fields[1:], fields[0]]) if len(fields) == 6 else text


def _seconds_first(fields: list[T], seconds: Seconds) -> list[T]:
    return [fields[5], *fields[:5]] if len(fields) == 6 and seconds == "last" else fields
