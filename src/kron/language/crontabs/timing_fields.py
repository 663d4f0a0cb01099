"""Schedules of crontab lines: macros in any case, and random times (`~`) as windows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from kron.language.fault import Fault
from kron.language.field_errors import MACROS
from kron.language.foreign.vixie import read_cron, read_schedule
from kron.language.grammar import HOUR, MINUTE, Kind
from kron.language.options import Options
from kron.language.tokens import Token, tokens
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import possible
from kron.timing.schedule.policy import KRON, Overlap
from kron.timing.schedule.policy import MINUTE as MINUTE_NANOSECONDS
from kron.timing.schedule.window import Mode, Window
from kron.timing.zone import Zone

# cron starts a job in its minute or not at all, also while its previous run is active.
CRON_POLICY = replace(KRON, overlap=Overlap.ALLOW, deadline=MINUTE_NANOSECONDS)

_RANDOM = re.compile(r"([0-9]{0,2})~([0-9]{0,2})")
_MINUTES = {MINUTE: 1, HOUR: 60}  # minutes per value of the field


class Timing(NamedTuple):
    """Schedule of a crontab line, and notes about it."""

    schedule: Schedule
    notes: tuple[str, ...]


def read_timing(text: str, zone: Zone, delay: int) -> Timing:
    """Return the schedule of five fields or a macro, as cron runs it.

    Args:
        text: The fields or the macro.
        zone: Time zone.
        delay: Maximum random delay in minutes (`RANDOM_DELAY` of cronie).

    Raises:
        Fault: The schedule is invalid, or Kron cannot express it.
    """
    notes = list[str]()
    if text.startswith("@") and text not in MACROS and text.lower() in MACROS:
        notes.append(f"Debian's cron accepts {text.lower()} in lower case only.")
        text = text.lower()
    fields_text, random_minutes = _without_random_times(text)
    if random_minutes:
        notes.append("cronie selects the random time once, when it reads the file. Kron selects a time for each run.")
    if delay:
        notes.append("cronie selects the random delay once, when it starts. Kron selects a delay for each run.")
    schedule = read_schedule(fields_text, Options(zone, CRON_POLICY))
    minutes = random_minutes + delay
    if minutes:
        schedule = replace(schedule, window=Window(Mode.AFTER, minutes * MINUTE_NANOSECONDS))
    return Timing(schedule, tuple(notes))


def never_runs(text: str) -> bool:
    """Return whether five fields are valid, and no month has such a day."""
    try:
        return not possible(read_cron(text))
    except Fault:
        return False


def _without_random_times(text: str) -> tuple[str, int]:
    """Return the fields with the first value of each random time, and the length of the window in minutes.

    The other fields keep their places, so that the place of a fault stays right.
    """
    total = 0
    for field, kind in zip(tokens(text, 2), (MINUTE, HOUR), strict=False):
        match = _RANDOM.fullmatch(field.text)
        if not match:
            continue
        first, last = int(match[1] or kind.low), int(match[2] or kind.high)
        _check_random_time(field, first, last, kind)
        total += (last - first) * _MINUTES[kind]
        text = text[: field.start] + str(first).ljust(len(field.text)) + text[field.end :]
    return text, total


def _check_random_time(field: Token, first: int, last: int, kind: Kind) -> None:
    if last > kind.high:
        message = f"{kind.name} field value {last} is out of range ({kind.low}-{kind.high})"
        raise Fault("OUT_OF_RANGE", message, field.start, field.end, f"use a value from {kind.low} to {kind.high}")
    if first > last:
        message, hint = f"{kind.name} field range {field.text} is reversed", f"write {last}~{first}"
        raise Fault("REVERSED_RANGE", message, field.start, field.end, hint)
