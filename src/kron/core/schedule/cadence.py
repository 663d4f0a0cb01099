"""Every so many days, counted across months and years: what no cron line can say."""

from __future__ import annotations

from dataclasses import dataclass

from kron.core.schedule.cron import Cron


@dataclass(frozen=True, slots=True)
class Cadence(Cron):
    """The clock times of a cron, on the days whose number from 1970-01-01 leaves `phase` when divided by `every`."""

    every: int = 1
    phase: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.phase < self.every:
            raise ValueError("the phase of a cadence is a day from 0 to one less than its length")
        Cron.__post_init__(self)
        object.__setattr__(self, "dates", (self.every == 1, *self.dates[1:]))

    def days_between(self, start: int, end: int) -> int:
        """How many days match from `start` to before `end`."""
        return (end - 1 - self.phase) // self.every - (start - 1 - self.phase) // self.every

    def _day_from(self, day: int) -> int | None:
        return day + (self.phase - day) % self.every

    def _day_upto(self, day: int) -> int | None:
        return day - (day - self.phase) % self.every
