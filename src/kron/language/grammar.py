"""What may be written: the kinds of fields with their ranges and names, and what a dialect lets through."""

from __future__ import annotations

from dataclasses import dataclass

DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What a field, or a clause of a constraint, is about: its range, and the names that stand for numbers."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    noun: str = "field"

    @property
    def all(self) -> int:
        """Every value, as a bit set whose lowest bit is the lowest value."""
        return (1 << self.high - self.low + 1) - 1

    def number(self, name: str) -> int | None:
        """What a name stands for, in whatever case; None if it is no name of this kind."""
        upper = name.upper()
        if upper not in self.names or not name.isascii():  # "ſun".upper() is SUN too, and nobody's Sunday
            return None
        return self.names.index(upper) + self.low


SECOND = Kind("second", 0, 59)
MINUTE = Kind("minute", 0, 59)
HOUR = Kind("hour", 0, 23)
DAY = Kind("day", 1, 31)
MONTH = Kind("month", 1, 12, MONTH_NAMES)
WEEKDAY = Kind("weekday", 0, 6, DAY_NAMES)
SIX = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)
MODIFIERS = ("tz", "win", "dist", "seed", "policy", "avoid", "only")
ORDER = "minute hour day-of-month month day-of-week"


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """What a dialect lets through beyond numbers, ranges and lists."""

    name: str
    steps: bool = False
    names: bool = False
    seven: bool = False  # 7 is Sunday too
    lacks: str = "which strict POSIX cron lacks"  # said of a step or a name that it does not let through

    def allowed(self, kind: Kind) -> str:
        """What may stand for one value, in words."""
        names = f", or {kind.names[0]} to {kind.names[-1]}" if kind.names and self.names else ""
        return f"a number from {kind.low} to {kind.high + (self.seven and kind is WEEKDAY)}{names}"
