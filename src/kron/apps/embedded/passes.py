"""Pass loop of a worker: a pass when a period is due, after a notification, and at regular intervals."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from kron.engine.clock import Timer
from kron.engine.events import Event
from kron.engine.worker import Worker
from kron.errors import KronError

SHORTEST = 0.05  # minimum seconds between two passes, also with notifications
AFTER_FAILURE = 5.0
log = logging.getLogger("kron.scheduler")


class Passes:
    """Runs the passes of a worker until it is stopped."""

    def __init__(self, worker: Worker, timer: Timer) -> None:
        self.worker, self.timer = worker, timer
        self.notified, self.stopping = asyncio.Event(), False

    async def run(self) -> None:
        """Run passes. After a store failure the next pass tries again; due periods stay due."""
        while not self.stopping:
            self.notified.clear()
            try:
                pause = await self.worker.tick() / 1000
            except Exception as error:
                self._failed(error)
                pause = AFTER_FAILURE
            await self.timer.sleep(SHORTEST)
            if not self.stopping:
                with suppress(TimeoutError):
                    await self.timer.within(max(0.0, pause - SHORTEST), self.notified.wait())

    def _failed(self, error: Exception) -> None:
        """Report a failed pass: a store outage is logged when it begins and when it ends."""
        said = error.message if isinstance(error, KronError) else repr(error)
        if not isinstance(error, KronError):
            log.exception("a pass failed; the next pass tries again")
        self.worker.sink(Event("pass_failed", 0, {"owner": self.worker.owner, "error": said}))

    def notify(self) -> None:
        """Request a pass soon."""
        self.notified.set()

    def stop(self) -> None:
        """Run no more passes."""
        self.stopping = True
        self.notified.set()
