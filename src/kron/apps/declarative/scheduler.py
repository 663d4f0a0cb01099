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
        self._start_task: asyncio.Task[None] | None = None
        self._stop_task: asyncio.Task[None] | None = None
        self._polling: Polling | None = None
        self._resources = AsyncExitStack()

    def initialize(self, registrations: Sequence[Registration]) -> Awaitable[None]:
        """Adopt the tasks and start polling. The call itself raises registration errors, before any change."""
        if self._state not in _IDLE:
            state = "initializing" if self._state is SchedulerState.INITIALIZING else "running"
            raise SchedulerAlreadyActiveError(state)
        loop = asyncio.get_running_loop()
        self._state = SchedulerState.INITIALIZING
        self._emit_scheduler_event("SchedulerInitializationStarted")
        try:
            tasks = read_registrations(registrations, self._zone or local_zone(), int(self._clock.now()))
        except Exception as error:
            self._fail_initialization(error)
            if unexpected := _scheduler_error(error):
                raise unexpected from error
            raise
        self._start_task = loop.create_task(self._start(tasks))
        self._start_task.add_done_callback(self._on_start_done)
        return self._start_task

    def stop(self) -> Awaitable[None]:
        """Stop polling, wait for running callbacks, and release everything. Concurrent calls share one shutdown."""
        loop = asyncio.get_running_loop()
        if self._stop_task is None:
            if self._state in _IDLE:
                return loop.create_task(asyncio.sleep(0))
            self._stop_task = loop.create_task(self._finish())
        return asyncio.shield(self._stop_task)

    async def _start(self, tasks: list[Task]) -> None:
        try:
            store = await self._resources.enter_async_context(self._open_store())
            overrides = await override(store, tasks)
        except BaseException as error:
            await self._resources.aclose()
            self._fail_initialization(error)
            if unexpected := _scheduler_error(error):
                raise unexpected from error
            raise
        self._polling = self._make_polling(store, tasks, overrides.aliases)
        if self._stop_task is None:  # otherwise the scheduler is stopping, and nothing may start
            for task in tasks:
                self._polling.schedule(task.name)
        self._state = SchedulerState.RUNNING
        self._emit_scheduler_event("SchedulerInitializationCompleted", **_summary(overrides))

    def _on_start_done(self, start_task: asyncio.Task[None]) -> None:
        if self._state is SchedulerState.INITIALIZING:  # canceled before the initialization had any effect
            self._fail_initialization(asyncio.CancelledError())

    async def _finish(self) -> None:
        try:
            if self._start_task:
                await asyncio.wait([self._start_task])
            if self._state is SchedulerState.RUNNING:
                self._state = SchedulerState.STOPPING
                self._emit_scheduler_event("SchedulerStopRequested")
                await self._shut_down()
        finally:
            self._stop_task = None

    async def _shut_down(self) -> None:
        try:
            if self._polling:
                await self._polling.stop_loop()
            await self._resources.aclose()
        finally:
            self._polling, self._state = None, SchedulerState.STOPPED
            self._emit_scheduler_event("SchedulerStopped")

    def _open_store(self) -> AbstractAsyncContextManager[Store]:
        return open_store(self._place, self._clock) if isinstance(self._place, str) else nullcontext(self._place)

    def _make_polling(self, store: Store, tasks: list[Task], aliases: Mapping[str, str]) -> Polling:
        def emit_preemption(event: Event) -> None:
            identity = preempted(event)
            name = aliases.get(identity, identity) if identity else ""
            if name in tasks_by_name:  # not a task of another scheduler
                self._emit_scheduler_event("TaskRetryPreempted", taskName=name)

        tasks_by_name, sink = {task.name: task for task in tasks}, silent if self._sink is silent else emit_preemption
        callbacks = Callbacks(tasks_by_name, ReportWriter(store, timer=self._timer), self._emit_scheduler_event)
        owner = f"scheduler-{uuid4().hex}"  # unique per start: runs with another owner are orphans
        launchers = {SCHEME: callbacks.launcher}
        worker = Worker(store, launchers, self._timer, owner=owner, settings=SETTINGS, sink=sink)
        return Polling(worker, callbacks, self._emit_scheduler_event)

    def _fail_initialization(self, error: BaseException) -> None:
        self._state = SchedulerState.UNINITIALIZED
        self._emit_scheduler_event("SchedulerInitializationFailed", error=type(error).__name__)

    def _emit_scheduler_event(self, name: str, **facts: Any) -> None:
        try:
            self._sink(Event(name, int(self._clock.now() * 1000), facts))
        except Exception:  # a failing sink must not stop the scheduler
            log.exception("the sink failed")


def _scheduler_error(error: BaseException) -> SchedulerError | None:
    """Return what to raise instead of an unexpected error, without the secrets in it; None if it is expected."""
    if isinstance(error, SchedulerError) or not isinstance(error, Exception):
        return None
    cause = error.code if isinstance(error, KronError) else type(error).__name__
    return SchedulerError(f"Cannot initialize scheduler: {cause}", {"cause": error})


def _summary(overrides: Overrides) -> dict[str, Any]:
    return {kind.value: overrides.names(kind) for kind in Kind}
