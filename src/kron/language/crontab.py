"""Classic crontab files -> their lines: five fields or a macro, then a command."""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.core.schedule.cron import Cron
from kron.errors import LanguageError, Place
from kron.language.extended import SERVICE
from kron.language.fault import Fault
from kron.language.posix import five
from kron.language.refusal import MACROS

_LINE = re.compile(r"\s*(@[a-z]+|\S+[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+\S+)[ \t]+(\S.*)")
_VARIABLE = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*\s*=")


class Entry(NamedTuple):
    """A line of a crontab: where it stood, its cron, and the rest."""

    number: int
    cron: Cron
    command: str


def read_crontab(text: str, path: str) -> tuple[list[Entry], list[LanguageError]]:
    """The entries of a crontab file, and the lines that are none. `@reboot` names no time, so it is left out."""
    entries, errors = list[Entry](), list[LanguageError]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#") or _VARIABLE.match(line):
            continue
        try:
            entry = _entry(line.removesuffix("\r"), number)
            entries += [entry] if entry else []
        except Fault as fault:
            place = Place(line, fault.start, fault.end, path, number)
            errors.append(LanguageError(fault.code, fault.message, place, hint=fault.hint))
    return entries, errors


def _entry(line: str, number: int) -> Entry | None:
    found = _LINE.match(line)
    if not found:
        raise Fault("NOT_A_CRONTAB", "this is no line of a crontab", 0, len(line), "write five fields and a command")
    schedule, start = found[1], found.start(1)
    if schedule == "@reboot":
        return None
    if schedule.startswith("@") and schedule not in MACROS:
        raise Fault("MACRO", f"there is no macro {schedule}", start, found.end(1), f"one of {', '.join(MACROS)}")
    try:
        return Entry(number, five(MACROS.get(schedule, schedule), SERVICE), found[2])
    except Fault as fault:
        raise fault.moved(start) from None
