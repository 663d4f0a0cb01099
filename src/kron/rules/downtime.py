"""Downtime: the latest interval in which no living worker could launch a schedule's target.

Only a period that fell due in a downtime can be missed by the catch-up policy. A period that fell due while such a
worker was alive is late because of Kron itself. It runs as soon as it can, within its deadline.
"""

from __future__ import annotations

from typing import NamedTuple

EVER = 1 << 62  # milliseconds: later than any instant


class Downtime(NamedTuple):
    """Half-open interval in milliseconds: `start` is included, `end` is not."""

    start: int
    end: int

    def covers(self, at: int) -> bool:
        """Return whether the downtime includes the instant `at`."""
        return self.start <= at < self.end

    def after(self, at: int, now: int) -> int:
        """Return how many milliseconds the downtime lasted after `at`, up to `now`.

        Time that passed after the end of the downtime does not count: the downtime did not cause it.
        """
        return min(now, self.end) - at


ALWAYS = Downtime(-EVER, EVER)  # assumed where nothing is known: every late period fell into a downtime
