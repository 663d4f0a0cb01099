"""Parts of a running scheduler: its store, its functions and its worker."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from kron.apps.embedded.declared import SCHEME, Declared
from kron.apps.embedded.functions import Functions
from kron.apps.embedded.registry import Registry
from kron.apps.embedded.run_ends import RunEnds
from kron.apps.embedded.run_handlers import RunHandlers
from kron.apps.embedded.task import Task
from kron.apps.embedded.unserved import watching_unserved
from kron.apps.embedded.wrap import Wrap, unwrapped
from kron.apps.unknown_job import unknown_job_error
from kron.apps.wiring import check_served, open_store
from kron.engine.clock import Clock, SystemTimer, Timer
from kron.engine.event_mirror import EventMirror, mirroring
from kron.engine.event_relay import EventRelay, relaying
from kron.engine.events import Event, Sink, all_of, guarded
from kron.engine.log_writer import log_with
from kron.engine.maintenance import Maintenance, maintaining
from kron.engine.metrics import Metrics
from kron.engine.registrar import Actor, Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.errors import NotFound, Unavailable, UsageError
from kron.stores.memory import MemoryStore

ACTOR = Actor("Scheduler")
MAX_LOOP_WAIT_SECONDS = 30.0  # seconds that another thread waits for the event loop
LOOP_CHECK_SECONDS = 1.0  # seconds after which such a thread checks that the event loop still exists
MAX_REQUEST_SECONDS = 5.0  # seconds for which the shutdown waits for requests that are not answered yet
log = logging.getLogger("kron.scheduler")
T = TypeVar("T")
MEMORY_SETTINGS = Settings(tick=60_000, shard_lease=0)  # no other process can use a store in memory


@dataclass(frozen=True, slots=True)
class Setup:
    """Configuration of a scheduler, and its declared jobs."""

    url: str
    sink: Sink
    max_workers: int
    max_coroutines: int | None
    clock: Clock | None
    timer: Timer
    settings: Settings
    retention: int | None
    declared: dict[str, Declared]
    tasks: dict[str, Task]
    handlers: RunHandlers
    wrap: Wrap = unwrapped
    metrics: Metrics = field(default_factory=Metrics)


class Running:
    """A running scheduler, from opening its store to closing it."""

    def __init__(self, setup: Setup, runs_jobs: bool = True) -> None:
        self.setup, self.runs_jobs, self.pid = setup, runs_jobs, os.getpid()
        self.resources = AsyncExitStack()
        self.loop = asyncio.get_running_loop()
        log_sink, self.log = log_with(log)
        self.ends = RunEnds(setup.timer)
        setup.handlers.begin()
        self.relay: EventRelay | None = None
        self.mirror: EventMirror | None = None
        own_sinks = partial(_log_event, log_sink), self.ends, setup.metrics, setup.handlers, self._relay_event
        self.sink = guarded(all_of(*own_sinks, setup.sink), log)
        self.shared = True  # whether other processes can use the store
        self.defining: set[asyncio.Task[None]] = set()
        self.defined_names: set[str] = set()
        self.registrar: Registrar
        self.functions: Functions
        self.worker: Worker
        self.stopping = asyncio.Event()
        self.closed = False  # whether requests are refused, because the store is about to be closed
        self.requests: set[asyncio.Future[None]] = set()  # each is done when its request is answered
        self.working: asyncio.Task[None]

    async def begin(self) -> None:
        """Check and open the store, define the declared jobs, and start the worker."""
        setup = self.setup
        await check_served(setup.url)
        store = await self.resources.enter_async_context(open_store(setup.url, setup.clock))
        try:
            self.registrar = Registrar(store, self.sink)
            registry = Registry(setup.declared, setup.tasks)
            limits = setup.max_workers, setup.max_coroutines
            self.functions = Functions(registry, store, setup.timer, *limits, self.sink, setup.wrap)
            await self.define_all()
        except BaseException:
            await self.resources.aclose()
            raise
        launchers = {SCHEME: self.functions}
        owner = f"application-{uuid4().hex}"
        self.shared = not isinstance(store, MemoryStore)
        settings = setup.settings if self.shared else MEMORY_SETTINGS
        self.worker = Worker(store, launchers, setup.timer, owner=owner, settings=settings, sink=self.sink)
        is_watchable = self.shared and isinstance(setup.timer, SystemTimer)  # others may listen, in real time
        self.relay = EventRelay(store.events, setup.timer, is_shared=is_watchable)
        self.mirror = EventMirror(store.events, setup.timer, self.relay.begin)
        await self.resources.enter_async_context(relaying(self.relay))
        await self.resources.enter_async_context(mirroring(self.mirror))
        self.functions.on_end = self.worker.notify
        for withheld in self.functions.withheld.values():
            withheld.on_wake = self.worker.notify
        if not self.runs_jobs:  # the worker only exists, so that requests can notify it
            self.working = asyncio.create_task(self._idle())
            return
        self.working = asyncio.create_task(self.worker.run(self.stopping))
        maintenance = Maintenance(store, setup.timer, days=setup.retention, sink=self.sink)
        await self.resources.enter_async_context(maintaining(maintenance))
        if self.shared:
            watching = watching_unserved(store, self.functions.registry, setup.timer, settings.shard_lease)
            await self.resources.enter_async_context(watching)

    @property
    def missing(self) -> list[Declared]:
        """Return the declared jobs that are not yet defined in the store."""
        jobs = list(self.setup.declared.items())  # a copy, because another thread can add jobs
        return [declared for name, declared in jobs if name not in self.defined_names]

    async def define_all(self) -> None:
        """Define the declared jobs in the store."""
        for declared in self.missing:
            self.defined_names.add(declared.name)
            await self.registrar.upsert(declared.job, ACTOR)

    def define(self, declared: Declared) -> None:
        """Define one more job: soon, or at once if another thread calls. A job that fails is no longer declared."""
        if current_loop() is self.loop:
            self.defining.add(self.loop.create_task(self._define(declared)))
            return
        future = asyncio.run_coroutine_threadsafe(self._define(declared), self.loop)
        try:
            future.result(MAX_LOOP_WAIT_SECONDS)
        except TimeoutError:
            future.cancel()
            self.setup.declared.pop(declared.name, None)
            message = f"job {declared.name!r} was not added: the event loop of the scheduler does not respond"
            raise Unavailable("NO_ANSWER", message, hint="find what blocks it, or add the job from within it") from None

    async def run_in_loop(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a coroutine, from any event loop. It runs after all declared jobs are defined."""
        if asyncio.get_running_loop() is self.loop:
            return await self._run_when_defined(work)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._run_when_defined(work), self.loop))

    async def run_for_job(self, name: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a coroutine about a job, as `run_in_loop`. An unknown name gets the most similar one."""

        async def work_or_explain() -> T:
            try:
                return await work()
            except NotFound:
                advice = "declare the job with @s.job, or create it with s.create"
                raise await unknown_job_error(self.registrar.store, name, advice) from None

        return await self.run_in_loop(work_or_explain)

    async def zone_of(self, name: str) -> tzinfo:
        """Return the time zone of a job; UTC if the job is no longer in the store."""
        (state,) = await self.registrar.store.get([name])
        return state.job.schedule.zone.rules if state else UTC

    def wait_for(self, request: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine in a thread without an event loop.

        Raises:
            Unavailable: The event loop of the scheduler does not respond.
            UsageError: The scheduler was stopped before it answered.
        """
        begun = threading.Event()

        async def begin() -> T:
            begun.set()
            return await request

        beginning, limit = begin(), time.monotonic() + MAX_LOOP_WAIT_SECONDS
        try:
            future = asyncio.run_coroutine_threadsafe(beginning, self.loop)
        except RuntimeError:  # the loop is closed
            beginning.close()
            raise stopped_error() from None
        try:
            while not concurrent.futures.wait([future], LOOP_CHECK_SECONDS).done:
                if self.loop.is_closed():
                    raise stopped_error()
                if not begun.is_set() and time.monotonic() > limit:
                    hint = "find what blocks it, such as a call of time.sleep() in an async function"
                    raise Unavailable("NO_ANSWER", "the event loop of the scheduler does not respond", hint=hint)
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def end(self, timeout: float) -> None:
        """Launch nothing more, wait up to `timeout` seconds for running functions, and close the store."""
        deadline = self.loop.time() + timeout
        self.stopping.set()
        self.ends.stop()
        try:
            await self._wait_until_defined()
        finally:
            _, unfinished = await asyncio.wait([self.working], timeout=max(1.0, timeout))
            for working in unfinished:
                working.cancel()
            await self.functions.ended(deadline - self.loop.time())
            await self.setup.handlers.end(max(1.0, deadline - self.loop.time()))
            self.closed = True
            if self.requests:
                await asyncio.wait(self.requests, timeout=MAX_REQUEST_SECONDS)
            await self.resources.aclose()
            self.log.close()

    def _relay_event(self, event: Event) -> None:
        if self.relay is not None:
            self.relay(event)

    async def _idle(self) -> None:
        await self.stopping.wait()

    async def _run_when_defined(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self.closed:
            raise stopped_error()
        answered = self.loop.create_future()
        self.requests.add(answered)
        try:
            await self._wait_until_defined()
            return await work()
        finally:
            self.requests.discard(answered)
            answered.set_result(None)

    async def _wait_until_defined(self) -> None:
        """Wait until all jobs are defined; raise the error of a job that could not be."""
        while self.defining:
            await self.defining.pop()

    async def _define(self, declared: Declared) -> None:
        try:
            await self.registrar.upsert(declared.job, ACTOR)
        except BaseException:
            self.setup.declared.pop(declared.name, None)
            raise
        self.defined_names.add(declared.name)
        self.worker.notify()


def _log_event(log_sink: Sink, event: Event) -> None:
    """Log an event, one line per start and per end of a run.

    The acceptance of a launch is omitted, because the start of the function is logged. A failure was already logged
    with its traceback, except that of a run which exceeded its time limit.
    """
    facts = event.facts
    accepted = event.name == "launch_completed" and facts["result"] == "ok"
    failed = event.name == "run_finished" and facts["state"] == "failed" and facts.get("outcome") == "executed"
    if not accepted and (not failed or "timeout_ms" in facts):
        log_sink(event)


def stopped_error() -> UsageError:
    """Return the error of a request that the scheduler did not answer before it was stopped."""
    return UsageError("NOT_RUNNING", "the scheduler was stopped", hint="start it again, and repeat the request")


def current_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
