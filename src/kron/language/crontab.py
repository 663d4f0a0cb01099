"""Parser of classic crontab files: lines of five fields or a macro, then a command."""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.errors import LanguageError, Place
from kron.language.fault import Fault
from kron.language.field_errors import MACROS
from kron.language.posix import read_five_fields
from kron.language.service import SERVICE
from kron.timing.schedule.cron import Cron

_LINE = re.compile(r"\s*(@[a-z]+|\S+[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+\S+)[ \t]+(\S.*)")
_VARIABLE = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*\s*=")


class Entry(NamedTuple):
    """Entry of a crontab: its line number, its cron fields, and the rest of the line."""

    number: int
    cron: Cron
    command: str


def read_crontab(text: str, path: str) -> tuple[list[Entry], list[LanguageError]]:
    """Return the entries of a crontab file, and an error for each invalid line.

    Comments and variables are ignored. `@reboot` is ignored too, because it names no time.
    """
    entries, errors = list[Entry](), list[LanguageError]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#") or _VARIABLE.match(line):
            continue
        try:
            entry = _read_entry(line.removesuffix("\r"), number)
            entries += [entry] if entry else []
        except Fault as fault:
            place = Place(line, fault.start, fault.end, path, number)
            errors.append(LanguageError(fault.code, fault.message, place, hint=fault.hint))
    return entries, errors


def _read_entry(line: str, number: int) -> Entry | None:
    match = _LINE.match(line)
    if not match:
        raise Fault("NOT_A_CRONTAB", "line is not a crontab entry", 0, len(line), "write five fields and a command")
    schedule, start = match[1], match.start(1)
    if schedule == "@reboot":
        return None
    if schedule.startswith("@") and schedule not in MACROS:
        raise Fault("MACRO", f"unknown macro {schedule}", start, match.end(1), f"use one of {', '.join(MACROS)}")
    try:
        return Entry(number, read_five_fields(MACROS.get(schedule, schedule), SERVICE), match[2])
    except Fault as fault:
        raise fault.moved(start) from None
