"""Polling: a loop that looks at every minute, and in between when something asks for it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from enum import StrEnum

from kron.apps.declarative.callbacks import Callbacks, Say
from kron.clock import Clock, Timer
from kron.settings import Settings
from kron.worker import Worker

MINUTE = 60_000
SETTINGS = Settings(tick=MINUTE, batch=10_000, inflight=10_000, lease=10 * MINUTE, shard_lease=0)
AFTER_FAILURE = 5_000
UNRECORDED = 50_000  # callbacks that may have ended without a record while there are more to start
SHORTEST = 1.0  # seconds from one poll to the next, whatever asks
log = logging.getLogger("kron.declarative")


class PollingState(StrEnum):
    """The three states of the loop."""

    INACTIVE = "Inactive"
    ACTIVE = "Active"
    STOPPING = "Stopping"


class Polling:
    """Runs the worker while there are tasks."""

    def __init__(self, worker: Worker, callbacks: Callbacks, clock: Clock, timer: Timer, say: Say) -> None:
        self.worker, self.callbacks = worker, callbacks
        self.clock, self.timer, self.say = clock, timer, say
        self.state = PollingState.INACTIVE
        self.names: list[str] = []  # of a million tasks a set would take four times the memory
        self.loop: asyncio.Task[None] | None = None
        self.nudged, self.stopped = asyncio.Event(), asyncio.Event()
        callbacks.ended = self.nudged.set

    def schedule(self, name: str) -> None:
        """Look after a task; the first one starts the loop."""
        self.names.append(name)
        if self.state is PollingState.INACTIVE:
            self.state = PollingState.ACTIVE
            self.stopped.clear()
            self.say("PollingStarted")
            self.loop = asyncio.create_task(self._poll())

    async def cancel(self, name: str) -> None:
        """Look after a task no longer; without the last one there is no loop."""
        self.names = [other for other in self.names if other != name]
        if not self.names and self.state is PollingState.ACTIVE:
            await self._end()

    async def stop_loop(self) -> None:
        """Finish the poll that is going, wait for what runs, and be inactive."""
        if self.state is PollingState.ACTIVE:
            self.say("PollingStopRequested")
            await self._end()

    async def _end(self) -> None:
        self.state = PollingState.STOPPING
        self.callbacks.stopping = True
        self.stopped.set()
        self.nudged.set()
        try:
            if self.loop:
                await self.loop
            await self.callbacks.launcher.ended()
        finally:
            self.names.clear()
            self.loop, self.state = None, PollingState.INACTIVE
            self.say("PollingStopped")

    async def _poll(self) -> None:
        while self.state is PollingState.ACTIVE:
            self.nudged.clear()
            pause = await self._tick() / 1000
            if self.worker.full:  # there is more to start than one poll may take on
                await self.callbacks.launcher.recorded(UNRECORDED)
                continue
            await self._wait(SHORTEST, self.stopped)
            await self._wait(pause - SHORTEST, self.nudged)

    async def _tick(self) -> int:
        """One poll. A store that fails now may not fail the next time; what is due stays due."""
        try:
            pause = await self.worker.tick()
        except Exception:
            log.exception("a poll failed; the next one tries again")
            pause = AFTER_FAILURE
        return min(pause, MINUTE - int(self.clock.now() * 1000) % MINUTE)

    async def _wait(self, seconds: float, event: asyncio.Event) -> None:
        if seconds > 0 and not event.is_set():
            with suppress(TimeoutError):
                await self.timer.within(seconds, event.wait())
