"""Grammars: the kinds of fields with their ranges and names, and the features of each dialect."""

from __future__ import annotations

from dataclasses import dataclass

DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Kind of a cron field or of a clause: its range, and the names that stand for numbers."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    noun: str = "field"

    @property
    def all(self) -> int:
        """All values, as a bit set whose lowest bit is the lowest value."""
        return (1 << self.high - self.low + 1) - 1

    def number(self, name: str) -> int | None:
        """Return the number of a name, ignoring case; None if the kind has no such name."""
        upper = name.upper()
        if upper not in self.names or not name.isascii():  # "ſun".upper() is SUN, but it is not a valid name
            return None
        return self.names.index(upper) + self.low


SECOND = Kind("second", 0, 59)
MINUTE = Kind("minute", 0, 59)
HOUR = Kind("hour", 0, 23)
DAY = Kind("day", 1, 31)
MONTH = Kind("month", 1, 12, MONTH_NAMES)
WEEKDAY = Kind("weekday", 0, 6, DAY_NAMES)
FIELD_KINDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)
MODIFIERS = ("tz", "win", "dist", "seed", "policy", "avoid", "only")
PLUS_ONLY_MODIFIERS = ("days", "dst", "valid")  # of the plus dialect, in addition to those of kron
FIELD_ORDER = "minute hour day-of-month month day-of-week"


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """Features of a dialect beyond numbers, ranges and lists."""

    name: str
    steps: bool = False
    names: bool = False
    seven: bool = False  # 7 is also Sunday
    lacks: str = "which strict POSIX cron does not support"  # message part about an unsupported step or name

    def allowed(self, kind: Kind) -> str:
        """Return a description of the allowed values, for hints."""
        names = f", or {kind.names[0]} to {kind.names[-1]}" if kind.names and self.names else ""
        return f"a value from {kind.low} to {kind.high + (self.seven and kind is WEEKDAY)}{names}"
