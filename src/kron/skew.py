"""Skew: how far the clock of this host is from the store's, which decides. Who is too far astray does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from kron.clock import Clock, Timer
from kron.fleet import Share
from kron.store import Store


class Skew(NamedTuple):
    """Milliseconds: what the store's clock says, how far this host's is ahead, and by how much that may be wrong."""

    now: int
    ahead: int = 0
    error: int = 0

    def beyond(self, bound: int) -> bool:
        """Whether the clocks are certainly further apart. An answer that took long proves little."""
        return abs(self.ahead) - self.error > bound


async def compare(store: Store, clock: Clock | None, timer: Timer, shares: Sequence[Share]) -> tuple[Skew, int | None]:
    """Ask both clocks, and when the next schedule of those shares is to be looked at.

    The store's clock was read at some moment of the round trip: half of it is the error.
    """
    began, here = timer.monotonic(), clock.now() if clock else 0.0
    there, wake = await store.poll(shares) if shares else (await store.now(), None)
    if clock is None:
        return Skew(there), wake
    half = (timer.monotonic() - began) * 500
    return Skew(there, round(here * 1000 + half - there), ceil(half) + 1), wake
