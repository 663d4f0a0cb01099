"""Passes of a worker, one after the other: when something is due, when somebody nudges, and now and then."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from kron.clock import Timer
from kron.errors import KronError
from kron.events import Event
from kron.worker import Worker

SHORTEST = 0.05  # seconds from one pass to the next, whoever nudges
AFTER_FAILURE = 5.0
log = logging.getLogger("kron.scheduler")


class Passes:
    """Lets a worker work until it is to stop."""

    def __init__(self, worker: Worker, timer: Timer) -> None:
        self.worker, self.timer = worker, timer
        self.nudged, self.stopping = asyncio.Event(), False

    async def run(self) -> None:
        """Make passes. A store that fails now may not fail the next time; what is due stays due."""
        while not self.stopping:
            self.nudged.clear()
            try:
                pause = await self.worker.tick() / 1000
            except Exception as error:
                self._failed(error)
                pause = AFTER_FAILURE
            await self.timer.sleep(SHORTEST)
            if not self.stopping:
                with suppress(TimeoutError):
                    await self.timer.within(max(0.0, pause - SHORTEST), self.nudged.wait())

    def _failed(self, error: Exception) -> None:
        """Tell of it: an outage of the store is logged when it begins and when it ends."""
        said = error.message if isinstance(error, KronError) else repr(error)
        if not isinstance(error, KronError):
            log.exception("a pass failed; the next one tries again")
        self.worker.sink(Event("pass_failed", 0, {"owner": self.worker.owner, "error": said}))

    def nudge(self) -> None:
        """Look again soon."""
        self.nudged.set()

    def stop(self) -> None:
        """Make no more passes."""
        self.stopping = True
        self.nudged.set()
