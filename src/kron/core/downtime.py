"""Downtime: the last span of time in which no worker lived that could launch a schedule's target.

Only a period that fell due in it can be missed by the catch-up policy. A period that fell due while such a worker lived
is late because of Kron itself, and runs as soon as it can, within its deadline.
"""

from __future__ import annotations

from typing import NamedTuple

EVER = 1 << 62  # milliseconds: later than any instant


class Downtime(NamedTuple):
    """From the first millisecond up to, and without, the last."""

    start: int
    end: int

    def covers(self, at: int) -> bool:
        """Whether it lasted at that instant."""
        return self.start <= at < self.end

    def after(self, at: int, now: int) -> int:
        """How many milliseconds it went on after an instant, so far. What passed since then is not its doing."""
        return min(now, self.end) - at


ALWAYS = Downtime(-EVER, EVER)  # what is assumed where nothing is known: whatever is late fell into a downtime
