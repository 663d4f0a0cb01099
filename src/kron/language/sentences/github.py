"""The cron lines that GitHub Actions is given: five fields, each a number, `*` or `*/N`; days may be a range too."""

from __future__ import annotations

import re

from kron.core.schedule.cron import Cron
from kron.language.extended import baseline
from kron.language.fault import Fault
from kron.language.grammar import SIX, WEEKDAY, Kind
from kron.language.words import tokens

_PLAIN = re.compile(r"\*(?:/([0-9]{1,3}))?|[0-9]+")
_DAYS = re.compile(r"[0-6](-[0-6])?(,[0-6](-[0-6])?)*")


def read(line: str) -> Cron:
    """The cron of a line in the form of section 7.4, by way of the ordinary parser."""
    cron = baseline(line)
    for field, kind in zip(tokens(line), SIX[1:], strict=True):
        if not _fits(field.text, kind):
            message = f"the {kind.name} field {field.text[:20]} is not a number, * or */N"
            hint = f"write a number from {kind.low} to {kind.high}, * or */N"
            raise Fault("NOT_GITHUB_CRON", message, field.start, field.end, hint)
    return cron


def _fits(text: str, kind: Kind) -> bool:
    if kind is WEEKDAY:
        return text == "*" or bool(_DAYS.fullmatch(text))
    plain = _PLAIN.fullmatch(text)
    return plain is not None and int(plain[1] or "1") <= kind.high
