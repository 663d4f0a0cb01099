"""Declarative scheduler: tasks are data, given all at once. It has two methods; everything else is an event."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from enum import StrEnum
from typing import Any
from uuid import uuid4

from kron.apps.declarative.callbacks import Callbacks, preempted
from kron.apps.declarative.errors import SchedulerAlreadyActiveError, SchedulerError
from kron.apps.declarative.host import local_zone
from kron.apps.declarative.overrides import Kind, Overrides, override
from kron.apps.declarative.polling import SETTINGS, Polling
from kron.apps.declarative.registration import SCHEME, Registration, Task, read_registrations
from kron.apps.wiring import open_store
from kron.engine.clock import Clock, SystemClock, SystemTimer, Timer
from kron.engine.events import Event, Sink, line, silent
from kron.engine.report_writer import ReportWriter
from kron.engine.store import Store
from kron.engine.worker import Worker
from kron.errors import KronError
from kron.stores.memory import MemoryStore

log = logging.getLogger("kron.declarative")


class SchedulerState(StrEnum):
    """The five states of the scheduler."""

    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


_IDLE = (SchedulerState.UNINITIALIZED, SchedulerState.STOPPED)


def logged(event: Event) -> None:
    """Log an event to `kron.declarative`; the default sink."""
    log.info("%s", line(event))


class DeclarativeScheduler:
    """Runs callbacks by POSIX cron expressions in local time, and keeps its state across restarts.

    Args:
        store: Store URL, by default a SQLite file in the working directory, or a Store.
        timezone: Name of a time zone; None for that of the host, which is determined at each `initialize`.
        on_event: Function that receives the events.
    """

    def __init__(
        self,
        store: str | Store = "sqlite:scheduler.db",
        *,
        timezone: str | None = None,
        on_event: Sink = logged,
        clock: Clock | None = None,
        timer: Timer | None = None,
    ) -> None:
        self._clock, self._timer = clock or SystemClock(), timer or SystemTimer()
        self._place = MemoryStore(self._clock) if store == "memory:" else store  # lives as long as this object
        self._zone, self._sink = timezone, on_event
        self._state = SchedulerState.UNINITIALIZED
        self._beginning: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._polling: Polling | None = None
        self._held = AsyncExitStack()

    def initialize(self, registrations: Sequence[Registration]) -> Awaitable[None]:
        """Adopt the tasks and start polling. The call itself raises registration errors, before any change."""
        if self._state not in _IDLE:
            state = "initializing" if self._state is SchedulerState.INITIALIZING else "running"
            raise SchedulerAlreadyActiveError(state)
        loop = asyncio.get_running_loop()
        self._state = SchedulerState.INITIALIZING
        self._say("SchedulerInitializationStarted")
        try:
            tasks = read_registrations(registrations, self._zone or local_zone(), int(self._clock.now()))
        except Exception as error:
            self._failed(error)
            if unexpected := _wrapped(error):
                raise unexpected from error
            raise
        self._beginning = loop.create_task(self._begin(tasks))
        self._beginning.add_done_callback(self._begun)
        return self._beginning

    def stop(self) -> Awaitable[None]:
        """Stop polling, wait for running callbacks, and release everything. Concurrent calls share one shutdown."""
        loop = asyncio.get_running_loop()
        if self._ending is None:
            if self._state in _IDLE:
                return loop.create_task(asyncio.sleep(0))
            self._ending = loop.create_task(self._end())
        return asyncio.shield(self._ending)

    async def _begin(self, tasks: list[Task]) -> None:
        try:
            store = await self._held.enter_async_context(self._opened())
            found = await override(store, tasks)
        except BaseException as error:
            await self._held.aclose()
            self._failed(error)
            if unexpected := _wrapped(error):
                raise unexpected from error
            raise
        self._polling = self._wired(store, tasks, found.aliases)
        if self._ending is None:  # otherwise the scheduler is stopping, and nothing may start
            for task in tasks:
                self._polling.schedule(task.name)
        self._state = SchedulerState.RUNNING
        self._say("SchedulerInitializationCompleted", **_summary(found))

    def _begun(self, beginning: asyncio.Task[None]) -> None:
        if self._state is SchedulerState.INITIALIZING:  # canceled before the initialization had any effect
            self._failed(asyncio.CancelledError())

    async def _end(self) -> None:
        try:
            if self._beginning:
                await asyncio.wait([self._beginning])
            if self._state is SchedulerState.RUNNING:
                self._state = SchedulerState.STOPPING
                self._say("SchedulerStopRequested")
                await self._stopped()
        finally:
            self._ending = None

    async def _stopped(self) -> None:
        try:
            if self._polling:
                await self._polling.stop_loop()
            await self._held.aclose()
        finally:
            self._polling, self._state = None, SchedulerState.STOPPED
            self._say("SchedulerStopped")

    def _opened(self) -> AbstractAsyncContextManager[Store]:
        return open_store(self._place, self._clock) if isinstance(self._place, str) else nullcontext(self._place)

    def _wired(self, store: Store, tasks: list[Task], aliases: Mapping[str, str]) -> Polling:
        def hear(event: Event) -> None:
            identity = preempted(event)
            name = aliases.get(identity, identity) if identity else ""
            if name in known:  # not a task of another scheduler
                self._say("TaskRetryPreempted", taskName=name)

        known, sink = {task.name: task for task in tasks}, silent if self._sink is silent else hear
        callbacks = Callbacks(known, ReportWriter(store, timer=self._timer), self._say)
        owner = f"scheduler-{uuid4().hex}"  # unique per start: runs with another owner are orphans
        launchers = {SCHEME: callbacks.launcher}
        worker = Worker(store, launchers, self._timer, owner=owner, settings=SETTINGS, sink=sink)
        return Polling(worker, callbacks, self._say)

    def _failed(self, error: BaseException) -> None:
        self._state = SchedulerState.UNINITIALIZED
        self._say("SchedulerInitializationFailed", error=type(error).__name__)

    def _say(self, name: str, **facts: Any) -> None:
        try:
            self._sink(Event(name, int(self._clock.now() * 1000), facts))
        except Exception:  # a failing sink must not stop the scheduler
            log.exception("the sink failed")


def _wrapped(error: BaseException) -> SchedulerError | None:
    """Return what to raise instead of an unexpected error, without the secrets in it; None if it is expected."""
    if isinstance(error, SchedulerError) or not isinstance(error, Exception):
        return None
    what = error.code if isinstance(error, KronError) else type(error).__name__
    return SchedulerError(f"Cannot initialize scheduler: {what}", {"cause": error})


def _summary(found: Overrides) -> dict[str, Any]:
    return {kind.value: found.names(kind) for kind in Kind}
