"""Rules for clock changes: what happens to a wall-clock time that a day does not have, or has twice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kron.timing.schedule.cron import HOURS, MINUTES, Cron


class Gap(StrEnum):
    """What happens to a matching wall-clock time in a DST gap."""

    SKIP = "skip"  # no period
    AFTER = "after"  # one period at the first instant after the gap, for all matching times in the gap
    SHIFT = "shift"  # a period later by the length of the gap: the time is read with the offset before the gap


class Fold(StrEnum):
    """What happens to a matching wall-clock time in a DST fold, which comes twice."""

    BOTH = "both"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Dst:
    """Rule for clock changes.

    Attributes:
        gap: Rule for times in a DST gap.
        fold: Rule for times in a DST fold.
        fixed_times_only: Whether the rule applies only to lines whose minute and hour fields both list values. A line
            with `*` or `*/n` in one of them follows the clock on the wall. This is the rule of Debian's cron.
    """

    gap: Gap = Gap.SKIP
    fold: Fold = Fold.BOTH
    fixed_times_only: bool = False

    def applied_to(self, cron: Cron) -> Dst:
        """Return the rule that holds for a cron line."""
        if not self.fixed_times_only:
            return self
        is_repeating = _starts_with_star(cron.minutes, MINUTES) or _starts_with_star(cron.hours, HOURS)
        return WALL if is_repeating else AFTER_FIRST


WALL = Dst()
AFTER_FIRST = Dst(Gap.AFTER, Fold.FIRST)  # each wall-clock time has exactly one instant
ONCE = Dst(Gap.AFTER, Fold.FIRST, fixed_times_only=True)


def _starts_with_star(values: int, everything: int) -> bool:
    """Return whether the canonical text of a field starts with `*`: all values, or every n-th from 0 to the end."""
    if values == everything:
        return True
    size, numbers = everything.bit_length(), [n for n in range(everything.bit_length()) if values >> n & 1]
    if len(numbers) < 3 or numbers[0]:
        return False
    return numbers == list(range(0, size, numbers[1]))
