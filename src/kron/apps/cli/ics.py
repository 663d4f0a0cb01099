"""iCalendar output (RFC 5545): one event per run, so that people see upcoming runs in their calendar.

This is written by hand because the bare install needs only the standard library. Events have no recurrence rule: a
window chooses another time in every period.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kron._version import __version__
from kron.timing.decision import Decision
from kron.timing.key import key_of
from kron.timing.zone import rfc3339

MAX_EVENTS = 1_000
_MAX_OCTETS = 75  # of a line, without its line break


def write_calendar(runs: Iterable[tuple[Decision, str]], now: int) -> str:
    """Return a calendar with an event for each run. Two calls give the same UIDs.

    Args:
        runs: Decisions with a chosen time, and the name to show for each.
        now: Instant of the output, in seconds since 1970-01-01 UTC.
    """
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//Kron//{__version__}//EN"]
    for decision, name in runs:
        lines += _event(decision, name, now)
    return "".join(f"{part}\r\n" for line in [*lines, "END:VCALENDAR"] for part in _folded(line))


def _event(decision: Decision, name: str, now: int) -> Iterator[str]:
    if decision.chosen is None:
        return
    yield "BEGIN:VEVENT"
    yield f"UID:{key_of(decision.identity, decision.period.nominal)}"
    yield f"DTSTAMP:{_stamp(now)}"
    yield f"DTSTART:{_stamp(decision.chosen)}"
    yield f"SUMMARY:{_escaped(name)}"
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def _stamp(t: int) -> str:
    return rfc3339(t).replace("-", "").replace(":", "")


def _escaped(text: str) -> str:
    for char in ("\\", ";", ","):
        text = text.replace(char, f"\\{char}")
    return text.replace("\n", "\\n").replace("\r", "")


def _folded(line: str) -> Iterator[str]:
    """Yield the parts of a line that is too long. Each further part begins with a space."""
    part = ""
    for char in line:
        if len((part + char).encode()) > _MAX_OCTETS:
            yield part
            part = " "
        part += char
    yield part
