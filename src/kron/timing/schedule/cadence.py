"""Cadences: every N days, counted across months and years, which a cron line cannot express."""

from __future__ import annotations

from dataclasses import dataclass

from kron.timing.schedule.cron import Cron


@dataclass(frozen=True, slots=True)
class Cadence(Cron):
    """Times of day of a cron, on the days whose number since 1970-01-01 is `phase` modulo `every`."""

    every: int = 1
    phase: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.phase < self.every:
            raise ValueError(f"phase {self.phase} must be at least 0 and less than {self.every}")
        Cron.__post_init__(self)
        object.__setattr__(self, "dates", (self.every == 1, *self.dates[1:]))

    def days_between(self, start: int, end: int) -> int:
        """Return how many days match from `start` (included) to `end` (excluded)."""
        return (end - 1 - self.phase) // self.every - (start - 1 - self.phase) // self.every

    def _day_from(self, day: int) -> int | None:
        return day + (self.phase - day) % self.every

    def _day_upto(self, day: int) -> int | None:
        return day - (day - self.phase) % self.every
