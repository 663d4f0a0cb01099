"""Times of system log lines: RFC 3339, or local time without a year, as traditional log files have it."""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.timing.calendar import Date, day_of
from kron.timing.zone import DAY, Zone, instant_of

_LINE = re.compile(
    r"(?:<[0-9]{1,3}>)?"
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2}))"
    r"|([A-Z][a-z]{2}) ([ 0-3][0-9]) ([0-9]{2}):([0-9]{2}):([0-9]{2}))"
    r" (?:\S+ )?([A-Za-z_./-]+)(?:\[[0-9]+\])?: (.*)",
    re.DOTALL,
)
_FRACTION = re.compile(r"\.([0-9]+)")
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_MAX_YEARS = 8  # to the last February 29
_MAX_AHEAD = DAY  # seconds that the clock of the log can be ahead
_MAX_BACK_MS = 120_000  # by which a line can be older than the one before it


class LogLine(NamedTuple):
    """Line of a system log.

    Attributes:
        instants: When it was written, in milliseconds. A local time that occurs twice in the night of a clock change
            can be two instants.
        program: Name of the program.
        message: The text after it.
    """

    instants: tuple[int, ...]
    program: str
    message: str


class LogReader:
    """Reader of the lines of a system log, in their order: it resolves local times that occur twice.

    Args:
        zone: Time zone of the log.
        now: Instant of the reading, in seconds since the epoch. A line without a year is at most a year older.
    """

    def __init__(self, zone: Zone, now: int) -> None:
        self.zone, self.read_at, self.last = zone, now, 0

    def read(self, text: str) -> LogLine | None:
        """Return a line; None if it is not a line of a system log."""
        match = _LINE.match(text)
        if not match:
            return None
        try:
            instants = (_exact(match[1]),) if match[1] else self._local(match)
        except ValueError:
            return None
        if not instants:
            return None
        self.last = max(self.last, instants[0])
        return LogLine(instants, match[7], match[8])

    def _local(self, match: re.Match[str]) -> tuple[int, ...]:
        """Return the instants of a local time without a year: the latest ones that are not in the future.

        Of two instants, the first one is ruled out if an earlier line is later.
        """
        day, hour, minute, second = map(int, match.group(3, 4, 5, 6))
        year = self.zone.wall(self.read_at).date[0] + 1
        for candidate in range(year, year - _MAX_YEARS - 1, -1):
            found = self._instants(candidate, _MONTHS.get(match[2], 0), day, hour * 3_600 + minute * 60 + second)
            possible = tuple(each * 1000 for each in found if each <= self.read_at + _MAX_AHEAD)
            if possible:
                likely = tuple(each for each in possible if each >= self.last - _MAX_BACK_MS)
                return likely or possible[-1:]
        return ()

    def _instants(self, year: int, month: int, day: int, seconds: int) -> list[int]:
        number = day_of(Date(year, month, day))
        if number is None:  # February 29 of another year
            return []
        wall = number * DAY + seconds
        return sorted(self.zone.instants(wall)) or [wall - self.zone.wall(wall - DAY).offset]


def _exact(text: str) -> int:
    fraction = _FRACTION.search(text)
    return instant_of(text) * 1000 + (int(fraction[1].ljust(3, "0")[:3]) if fraction else 0)
