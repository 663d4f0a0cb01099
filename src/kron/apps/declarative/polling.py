"""Polling: the worker runs while there are tasks."""

from __future__ import annotations

import asyncio
from enum import StrEnum

from kron.apps.declarative.callbacks import Callbacks, EmitEvent
from kron.engine.settings import Settings
from kron.engine.worker import Worker

MINUTE = 60_000
SETTINGS = Settings(
    tick=MINUTE, aligned=True, min_pass_interval=1_000, batch=10_000, inflight=10_000, lease=10 * MINUTE, shard_lease=0
)


class PollingState(StrEnum):
    """The three states of the loop."""

    INACTIVE = "Inactive"
    ACTIVE = "Active"
    STOPPING = "Stopping"


class Polling:
    """Runs the worker while there are tasks: it polls when a task is due, and at least every minute."""

    def __init__(self, worker: Worker, callbacks: Callbacks, emit_scheduler_event: EmitEvent) -> None:
        self.worker, self.callbacks, self.emit_scheduler_event = worker, callbacks, emit_scheduler_event
        self.state = PollingState.INACTIVE
        self.names: list[str] = []  # a list: a set of a million names would take four times the memory
        self.loop: asyncio.Task[None] | None = None
        self.stopping = asyncio.Event()
        callbacks.on_end = worker.notify

    def schedule(self, name: str) -> None:
        """Add a task; the first one starts the loop."""
        self.names.append(name)
        if self.state is PollingState.INACTIVE:
            self.state = PollingState.ACTIVE
            self.stopping.clear()
            self.emit_scheduler_event("PollingStarted")
            self.loop = asyncio.create_task(self.worker.run(self.stopping))

    async def cancel(self, name: str) -> None:
        """Remove a task; without tasks the loop stops."""
        self.names = [other for other in self.names if other != name]
        if not self.names and self.state is PollingState.ACTIVE:
            await self._stop()

    async def stop_loop(self) -> None:
        """Finish the current poll, wait for running callbacks, and become inactive."""
        if self.state is PollingState.ACTIVE:
            self.emit_scheduler_event("PollingStopRequested")
            await self._stop()

    async def _stop(self) -> None:
        self.state = PollingState.STOPPING
        self.stopping.set()
        try:
            if self.loop:
                await self.loop
            await self.callbacks.stop()
        finally:
            self.names.clear()
            self.loop, self.state = None, PollingState.INACTIVE
            self.emit_scheduler_event("PollingStopped")
