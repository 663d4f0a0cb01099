"""Polling loop: polls every minute, and in between on request."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from enum import StrEnum

from kron.apps.declarative.callbacks import Callbacks, Say
from kron.engine.clock import Clock, Timer
from kron.engine.settings import Settings
from kron.engine.worker import Worker

MINUTE = 60_000
SETTINGS = Settings(tick=MINUTE, batch=10_000, inflight=10_000, lease=10 * MINUTE, shard_lease=0)
AFTER_FAILURE = 5_000
UNRECORDED = 50_000  # maximum ended callbacks without a record while there are more to start
SHORTEST = 1.0  # minimum seconds between two polls
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
        self.names: list[str] = []  # a list: a set of a million names would take four times the memory
        self.loop: asyncio.Task[None] | None = None
        self.notified, self.stopped = asyncio.Event(), asyncio.Event()
        callbacks.ended = self.notified.set

    def schedule(self, name: str) -> None:
        """Add a task; the first one starts the loop."""
        self.names.append(name)
        if self.state is PollingState.INACTIVE:
            self.state = PollingState.ACTIVE
            self.stopped.clear()
            self.say("PollingStarted")
            self.loop = asyncio.create_task(self._poll())

    async def cancel(self, name: str) -> None:
        """Remove a task; without tasks the loop stops."""
        self.names = [other for other in self.names if other != name]
        if not self.names and self.state is PollingState.ACTIVE:
            await self._end()

    async def stop_loop(self) -> None:
        """Finish the current poll, wait for running callbacks, and become inactive."""
        if self.state is PollingState.ACTIVE:
            self.say("PollingStopRequested")
            await self._end()

    async def _end(self) -> None:
        self.state = PollingState.STOPPING
        self.callbacks.stopping = True
        self.stopped.set()
        self.notified.set()
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
            self.notified.clear()
            pause = await self._tick() / 1000
            if self.worker.full:  # more tasks are due than one poll can launch
                await self.callbacks.launcher.recorded(UNRECORDED)
                continue
            await self._wait(SHORTEST, self.stopped)
            await self._wait(pause - SHORTEST, self.notified)

    async def _tick(self) -> int:
        """Run one poll. After a store failure the next poll tries again; due tasks stay due."""
        try:
            pause = await self.worker.tick()
        except Exception:
            log.exception("a poll failed; the next poll tries again")
            pause = AFTER_FAILURE
        return min(pause, MINUTE - int(self.clock.now() * 1000) % MINUTE)

    async def _wait(self, seconds: float, event: asyncio.Event) -> None:
        if seconds > 0 and not event.is_set():
            with suppress(TimeoutError):
                await self.timer.within(seconds, event.wait())
