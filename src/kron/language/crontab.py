"""Parser of classic crontab files: lines of five fields or a macro, then a command, and variables for the time zone."""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.errors import LanguageError, Place
from kron.language.fault import Fault
from kron.language.field_errors import MACROS
from kron.language.foreign.vixie import read_cron
from kron.language.modifier_args import read_zone
from kron.timing.schedule.cron import Cron
from kron.timing.zone import UTC_ZONE, Zone

_LINE = re.compile(r"\s*(@[a-z]+|\S+[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+\S+)[ \t]+(\S.*)")
_VARIABLE = re.compile(r"\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(['\"]?)(.*?)\3\s*")
_ZONE_VARIABLES = ("CRON_TZ", "TZ")  # the first one that is set applies


class Entry(NamedTuple):
    """Entry of a crontab: its line number, its cron fields, the rest of the line, and the time zone of the fields."""

    number: int
    cron: Cron
    command: str
    zone: Zone = UTC_ZONE


def read_crontab(text: str, path: str) -> tuple[list[Entry], list[LanguageError]]:
    """Return the entries of a crontab file, and an error for each invalid line.

    `CRON_TZ` and `TZ` set the time zone of the lines that follow, as in cronie; `CRON_TZ` has priority. An empty value
    unsets the variable. Without both, the time zone is UTC. Comments and other variables are ignored. `@reboot` is
    ignored too, because it names no time.
    """
    entries, errors, zones = list[Entry](), list[LanguageError](), dict[str, Zone]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            variable = _VARIABLE.fullmatch(line)
            entry = None if variable else _read_entry(line.removesuffix("\r"), number)
            if variable and variable[2] in _ZONE_VARIABLES:
                _set_zone(zones, variable)
            zone = next((zones[name] for name in _ZONE_VARIABLES if name in zones), UTC_ZONE)
            entries += [entry._replace(zone=zone)] if entry else []
        except Fault as fault:
            place = Place(line, fault.start, fault.end, path, number)
            errors.append(LanguageError(fault.code, fault.message, place, hint=fault.hint))
    return entries, errors


def _set_zone(zones: dict[str, Zone], variable: re.Match[str]) -> None:
    """Set or unset the time zone that a line such as `CRON_TZ=Europe/Paris` names. A leading `:` has no meaning."""
    name = variable[4].removeprefix(":")
    zones.pop(variable[2], None)
    try:
        if name:
            zones[variable[2]] = read_zone(name)
    except Fault as fault:
        raise fault.moved(variable.end(4) - len(name)) from None


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
        return Entry(number, read_cron(schedule), match[2])
    except Fault as fault:
        raise fault.moved(start) from None
