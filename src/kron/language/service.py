"""Cron with names and steps: the cron fields of the kron dialect, and the service dialect.

The service dialect has five fields, or six with the seconds first, and accepts 7 for Sunday.
"""

from __future__ import annotations

import re
from typing import TypeVar

from kron.errors import InvalidSchedule
from kron.language.fault import Fault
from kron.language.field_errors import miscount
from kron.language.fields import cron, find_fault
from kron.language.grammar import Grammar
from kron.language.options import Options, Seconds
from kron.language.posix import read_five_fields
from kron.language.tokens import tokens, words
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron

BASELINE = Grammar("kron", steps=True, names=True)
SERVICE = Grammar("service", steps=True, names=True, seven=True)

T = TypeVar("T")

_FIVE_FIELDS = r"\S+(?:[ \t]+\S+){4}"
_SECONDS_LAST = re.compile(rf"([ \t]*)({_FIVE_FIELDS})([ \t]+)(\S+)([ \t]*)")
_SECONDS_FIRST = re.compile(rf"([ \t]*)(\S+)([ \t]+)({_FIVE_FIELDS})([ \t]*)")


def read_schedule(text: str, options: Options) -> Schedule:
    """Parse a text in the service dialect into a schedule."""
    return Schedule(read(text, options.seconds), options.zone, policy=options.policy)


def read(text: str, seconds: Seconds = "first") -> Cron:
    """Parse a text in the service dialect. `seconds` is the position of the seconds in six fields."""
    if seconds not in ("first", "last"):  # a deployment setting, so not always one of the literals
        message = f"unknown position {seconds!r} of the seconds"
        raise InvalidSchedule("UNKNOWN_SECONDS", message, hint="use first or last")
    fields = words(text)
    if len(fields) not in (5, 6):
        raise miscount(text, SERVICE, max_fields=6)
    try:
        return cron(text, _seconds_first(fields, seconds), SERVICE)
    except Fault:
        raise find_fault(text, _seconds_first(tokens(text), seconds), SERVICE) from None


def baseline(text: str) -> Cron:
    """Parse the cron fields of a text in the kron dialect."""
    return read_five_fields(text, BASELINE)


def seconds_first(text: str) -> str:
    """Move the seconds of a service text from the last field to the first. A text of five fields is unchanged.

    The spaces between the fields are kept, so that `seconds_last` gives the same text again.
    """
    match = _SECONDS_LAST.fullmatch(text)
    return f"{match[1]}{match[4]}{match[3]}{match[2]}{match[5]}" if match else text


def seconds_last(text: str) -> str:
    """Move the seconds of a service text from the first field to the last. A text of five fields is unchanged."""
    match = _SECONDS_FIRST.fullmatch(text)
    return f"{match[1]}{match[4]}{match[3]}{match[2]}{match[5]}" if match else text


def _seconds_first(fields: list[T], seconds: Seconds) -> list[T]:
    return [fields[5], *fields[:5]] if len(fields) == 6 and seconds == "last" else fields
