"""Clock skew between this host and the store.

The store's clock decides. A worker whose clock skew is too large does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from kron.engine.clock import Clock, Timer
from kron.engine.fleet import Share
from kron.engine.store import Store


class Skew(NamedTuple):
    """Clock skew, in milliseconds: the store's time, how far this host's clock is ahead, and the error of `ahead`."""

    now: int
    ahead: int = 0
    error: int = 0

    def exceeds(self, limit: int) -> bool:
        """Return whether the skew certainly exceeds `limit`.

        A slow answer of the store has a large error and proves little.
        """
        return abs(self.ahead) - self.error > limit


async def compare(store: Store, clock: Clock | None, timer: Timer, shares: Sequence[Share]) -> tuple[Skew, int | None]:
    """Return the clock skew, and when the next schedule of the shares must be checked.

    The store read its clock at some moment of the round trip, so that half of the round trip is the error. Without
    `clock`, the skew is not measured.
    """
    began, host_seconds = timer.monotonic(), clock.now() if clock else 0.0
    store_ms, next_check_at = await store.poll(shares) if shares else (await store.now(), None)
    if clock is None:
        return Skew(store_ms), next_check_at
    half_trip_ms = (timer.monotonic() - began) * 500
    return Skew(store_ms, round(host_seconds * 1000 + half_trip_ms - store_ms), ceil(half_trip_ms) + 1), next_check_at
