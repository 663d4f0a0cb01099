"""iCalendar output (RFC 5545): one event per run, so that people see upcoming runs in their calendar.

This is written by hand because the bare install needs only the standard library. Events have no recurrence rule: a
window chooses another time in every period.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kron._version import __version__
from kron.timing.zone import rfc3339

MEDIA = "text/calendar"
MAX_EVENTS = 1_000
_MAX_OCTETS = 75  # of a line, without its line break


class CalendarEvent(NamedTuple):
    """An upcoming run in a calendar.

    Attributes:
        start: Chosen time, in seconds since 1970-01-01 UTC.
        key: Idempotency key of the run. It is the UID of the event, so every download has the same UIDs.
        name: Name to show.
    """

    start: int
    key: str
    name: str


def write_calendar(events: Iterable[CalendarEvent], now: int, truncated: Iterable[str] = ()) -> str:
    """Return a calendar.

    Args:
        events: The events, in the order in which they are written.
        now: Instant of the output, in seconds since 1970-01-01 UTC.
        truncated: Bounds that left out events; they are written as the property `X-KRON-TRUNCATED`.
    """
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//Kron//{__version__}//EN"]
    bounds = ",".join(truncated)
    if bounds:
        lines.append(f"X-KRON-TRUNCATED:{bounds}")
    stamp = _stamp(now)
    lines += [_lines_of(event, stamp) for event in events]
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


def _lines_of(event: CalendarEvent, stamp: str) -> str:
    """Return the lines of an event. Only names can be too long for a line."""
    return (
        f"BEGIN:VEVENT\r\nUID:{event.key}\r\nDTSTAMP:{stamp}\r\nDTSTART:{_stamp(event.start)}\r\n"
        f"{_folded(f'SUMMARY:{_escaped(event.name)}')}\r\nTRANSP:TRANSPARENT\r\nEND:VEVENT"
    )


def _stamp(t: int) -> str:
    return rfc3339(t).replace("-", "").replace(":", "")


def _escaped(text: str) -> str:
    for char in ("\\", ";", ","):
        text = text.replace(char, f"\\{char}")
    return text.replace("\n", "\\n").replace("\r", "")


def _folded(line: str) -> str:
    """Return a line in parts of at most 75 octets if it is too long. Each further part begins with a space."""
    if len(line) <= _MAX_OCTETS and line.isascii():
        return line
    parts, part, octets = list[str](), "", 0
    for char in line:
        size = len(char.encode())
        if octets + size > _MAX_OCTETS:
            parts.append(part)
            part, octets = " ", 1
        part, octets = part + char, octets + size
    return "\r\n".join([*parts, part])
