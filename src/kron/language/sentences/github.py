"""Cron lines for GitHub Actions: five fields, each a number, `*` or `*/N`; weekdays can also be ranges and lists."""

from __future__ import annotations

import re

from kron.language.fault import Fault
from kron.language.grammar import FIELD_KINDS, WEEKDAY, Kind
from kron.language.service import baseline
from kron.language.tokens import tokens
from kron.timing.schedule.cron import Cron

_NUMBER_OR_STEP = re.compile(r"\*(?:/([0-9]{1,3}))?|[0-9]+")
_WEEKDAYS = re.compile(r"[0-6](-[0-6])?(,[0-6](-[0-6])?)*")


def read(line: str) -> Cron:
    """Parse a line with the usual parser, and check that it has the form of section 7.4."""
    cron = baseline(line)
    for field, kind in zip(tokens(line), FIELD_KINDS[1:], strict=True):
        if not _is_supported(field.text, kind):
            message = f"{kind.name} field {field.text[:20]} is not a number, * or */N"
            hint = f"use a number from {kind.low} to {kind.high}, * or */N"
            raise Fault("NOT_GITHUB_CRON", message, field.start, field.end, hint)
    return cron


def _is_supported(text: str, kind: Kind) -> bool:
    if kind is WEEKDAY:
        return text == "*" or bool(_WEEKDAYS.fullmatch(text))
    match = _NUMBER_OR_STEP.fullmatch(text)
    return match is not None and int(match[1] or "1") <= kind.high
