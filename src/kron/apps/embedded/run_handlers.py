"""Handlers of run events: called one after the other, without an effect on runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC
from functools import partial
from typing import Any

from kron.apps.embedded.declared import Declared
from kron.apps.embedded.run_event import RunEvent, RunEventKind, run_event_of
from kron.apps.embedded.wrap import Wrap, unwrapped
from kron.engine.events import Event
from kron.launchers.python import call
from kron.launchers.threads import Threads

MAX_WAITING_CALLS = 10_000  # calls of handlers that wait for their turn; further events are dropped
log = logging.getLogger("kron.scheduler")
Handler = Callable[[RunEvent], Any]


class RunHandlers:
    """Sink that calls handlers: plain functions in one thread, in order; async functions in the event loop."""

    def __init__(self, declared: Mapping[str, Declared], wrap: Wrap = unwrapped) -> None:
        self.declared, self.wrap = declared, wrap
        self.handlers: dict[RunEventKind, list[Handler]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.threads: Threads
        self.dropped = 0

    def add(self, kind: RunEventKind, handler: Handler) -> None:
        """Call a handler for every event of a kind."""
        self.handlers.setdefault(kind, []).append(handler)

    def begin(self) -> None:
        """Prepare for a start of the scheduler: an event loop of its own needs a thread runner of its own."""
        self.threads, self.tasks, self.dropped = Threads(1), set(), 0

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        if not self.handlers:
            return
        declared = self.declared.get(event.facts.get("identity", ""))
        run_event = run_event_of(event, declared.job.schedule.zone.rules if declared else UTC)
        if run_event is None:
            return
        for handler in self.handlers.get(run_event.kind, ()):
            if len(self.tasks) >= MAX_WAITING_CALLS:
                if not self.dropped:
                    log.warning("%d calls of event handlers are waiting; further events are dropped", len(self.tasks))
                self.dropped += 1
                return
            task = asyncio.get_running_loop().create_task(self._call(handler, run_event))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def end(self, timeout: float) -> None:
        """Wait up to `timeout` seconds until every handler has returned."""
        if self.tasks:
            _, unfinished = await asyncio.wait(self.tasks, timeout=timeout)
            for task in unfinished:
                task.cancel()

    async def _call(self, handler: Handler, event: RunEvent) -> None:
        try:
            await call(partial(self.wrap(handler), event), self.threads)
        except Exception:
            name = getattr(handler, "__name__", repr(handler))
            log.exception("handler %s of a run event failed; Kron continues", name)
