"""Deletion hold: when most KronJobs vanish at once, their schedules are deleted only after some minutes.

An operator that asks another cluster, or a custom resource definition that was deleted by mistake, looks like that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from kron.kube.kind import Place

HOLD_SECONDS = 600.0
MIN_COUNT = 5  # fewer KronJobs than this are never held


class DeletionHold:
    """Places whose deletion waits.

    Args:
        held: Called when deletions begin to wait, with the seconds.
        delete: Called for each place whose deletion is due.
        seconds: How long a deletion waits.
    """

    def __init__(
        self,
        held: Callable[[Sequence[Place], float], None],
        delete: Callable[[Place], None],
        seconds: float = HOLD_SECONDS,
    ) -> None:
        self.held, self.delete, self.seconds = held, delete, seconds
        self._timers: dict[Place, asyncio.TimerHandle] = {}

    def vanished(self, places: Sequence[Place], known: int) -> None:
        """Note places that a list no longer has. `known` is how many there were."""
        if len(places) < MIN_COUNT or 2 * len(places) <= known:
            for place in places:
                self.delete(place)
            return
        loop = asyncio.get_running_loop()
        for place in places:
            self.release(place)
            self._timers[place] = loop.call_later(self.seconds, self._end, place)
        self.held(places, self.seconds)

    def holds(self, place: Place) -> bool:
        """Return whether the deletion of a place waits."""
        return place in self._timers

    def release(self, place: Place) -> None:
        """Delete nothing: the KronJob is there again."""
        timer = self._timers.pop(place, None)
        if timer is not None:
            timer.cancel()

    def _end(self, place: Place) -> None:
        self._timers.pop(place, None)
        self.delete(place)
