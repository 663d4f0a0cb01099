"""Wall: what a clock and a calendar on the wall show."""

from __future__ import annotations

from typing import NamedTuple

from kron.timing.calendar import Date


class Wall(NamedTuple):
    """Local date and time at one instant."""

    date: Date
    day: int
    hour: int
    minute: int
    second: int
    weekday: int
    offset: int

    @property
    def text(self) -> str:
        """Text such as 2026-03-29 03:00:00 +02:00."""
        sign, size = ("-" if self.offset < 0 else "+"), abs(self.offset)
        offset_text = f"{sign}{size // 3600:02d}:{size // 60 % 60:02d}" + (f":{size % 60:02d}" if size % 60 else "")
        return f"{self.date.text} {self.hour:02d}:{self.minute:02d}:{self.second:02d} {offset_text}"
