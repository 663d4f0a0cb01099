"""Scheduler for applications: runs functions of the process on schedules, and keeps its state in a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar, Unpack
from uuid import uuid4

from kron.apps.embedded.declared import declare
from kron.apps.embedded.job_schedule import check_schedule, cron_options
from kron.apps.embedded.options import CronOptions, JobOptions, check_arguments, read_options
from kron.apps.embedded.running import ACTOR, Running, Setup, current_loop
from kron.apps.wiring import POSTGRES, check_url
from kron.engine.clock import Clock, SystemTimer, Timer
from kron.engine.events import Sink, silent
from kron.engine.maintenance import RETENTION_DAYS
from kron.engine.settings import Settings
from kron.engine.why import PeriodReport, why
from kron.errors import AlreadyExists, UsageError
from kron.launchers.threads import THREADS
from kron.timing.zone import instant, moment

F = TypeVar("F", bound=Callable[..., Any])


class Scheduler:
    """Runs functions on schedules: `async with Scheduler("sqlite:jobs.db") as s:`, or `run()` in a script or thread.

    Several processes can share a database: each period runs in one of them. The scheduler installs no signal handlers
    and logs to `kron.scheduler` only.

    Args:
        store: Store URL: `sqlite:PATH`, `postgresql://HOST/DATABASE` or `memory:`.
        on_event: Function that receives every event.
        shutdown_timeout: Seconds for which the shutdown waits for functions that are still running.
        threads: Maximum number of plain functions that run concurrently.
        clock: Clock of the store; None for the default. For tests.
        timer: Timer of the worker; None for the default. For tests.
        settings: Settings of the worker.
        retention: Days for which records of finished runs and deleted jobs are kept; None keeps them permanently.
    """

    def __init__(
        self,
        store: str = "sqlite:jobs.db",
        *,
        on_event: Sink = silent,
        shutdown_timeout: float = 30.0,
        threads: int = THREADS,
        clock: Clock | None = None,
        timer: Timer | None = None,
        settings: Settings = Settings(),  # noqa: B008  a frozen value
        retention: int | None = RETENTION_DAYS,
    ) -> None:
        check_url(store)
        check_arguments(threads, shutdown_timeout, retention, on_event, settings)
        self._setup = Setup(store, on_event, threads, clock, timer or SystemTimer(), settings, retention)
        self.declared, self.patience = self._setup.declared, shutdown_timeout
        self._lock = Lock()  # a caller of `add` and a start of the scheduler see the same jobs
        self._inside: Running | None = None
        self._stop_request: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def job(
        self,
        schedule: str | None = None,
        *,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[JobOptions],
    ) -> Callable[[F], F]:
        """Declare a job: `@s.job("daily around 14:00")`, `@s.job(every="10s")` or `@s.job(at=datetime(...))`.

        With `transaction=True`, the first argument of the function is a connection. Its writes are committed together
        with the success of the run.

        Args:
            schedule: A sentence, unless `dialect` or the text selects another dialect: `kron: 0 9 * * MON`. None if
                `every` or `at` is given.
            name: Name of the job; by default that of the function.
            args: Positional arguments of the function.
            kwargs: Keyword arguments of the function.
            **options: `dialect`, `timezone` and `dst` say how the text is read. `overlap`, `catchup`, `deadline`,
                `retry_delay` and `restart_lost` set the policy for runs that overlap, were missed, are late, fail, or
                lose their process.
        """
        check_schedule(schedule, read_options(options))

        def decorate(function: F) -> F:
            self.add(function, schedule, name=name, args=args, kwargs=kwargs, **options)
            return function

        return decorate

    def cron(
        self,
        schedule: str,
        *,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[CronOptions],
    ) -> Callable[[F], F]:
        """Declare a job with a cron line: `@s.cron("*/5 * * * *")` or `@s.cron("@daily")`. Options as in `job`."""
        return self.job(schedule, name=name, args=args, kwargs=kwargs, **cron_options(schedule, options))

    def kron(
        self,
        schedule: str,
        *,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[CronOptions],
    ) -> Callable[[F], F]:
        """Declare a job in the `kron` dialect: `@s.kron("0 9 * * MON-FRI @win(after,30m)")`. Options as in `job`."""
        return self.job(schedule, dialect="kron", name=name, args=args, kwargs=kwargs, **options)

    def add(
        self,
        function: Callable[..., Any] | str,
        schedule: str | None = None,
        *,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[JobOptions],
    ) -> str:
        """Declare a job of a function or of `package.module:function`, and return the name of the job.

        You can call it from any thread. While the scheduler runs, a call from another thread waits until the job is in
        the store. The parameters are those of `job`; the name is by default that of the function.
        """
        declared = declare(function, schedule, read_options(options), name, args, {} if kwargs is None else kwargs)
        if declared.transaction and self._setup.url.partition(":")[0] not in POSTGRES:
            message = f"job {declared.name!r} has transaction=True, which needs a PostgreSQL store"
            raise UsageError("NO_TRANSACTION", message, hint="use the postgresql:// URL of the job's own tables")
        with self._lock:
            if declared.name in self.declared:
                hint = f"use another name, or first `await s.delete({declared.name!r})`"
                raise AlreadyExists("DUPLICATE_JOB", f"job {declared.name!r} already exists", hint=hint)
            self.declared[declared.name] = declared
            running = self._inside
        if running:
            running.define(declared)
        return declared.name

    async def next(self, name: str) -> datetime | None:
        """Return the next run time of a job in its time zone; None if it has no next run.

        You can call this method and the following ones in any thread: `asyncio.run(s.next("report"))`.
        """
        running = self._require_running()

        async def preview() -> datetime | None:
            upcoming = await running.registrar.preview(name, 1)
            zone = (await running.registrar.get(name)).job.schedule.zone
            return moment(upcoming[0] // 1000).astimezone(zone.rules) if upcoming else None

        return await running.run_in_loop(preview)

    async def why(self, name: str, at: datetime | None = None) -> PeriodReport:
        """Return the report of a job's last period up to `at`: its outcome and its reason.

        Args:
            name: Name of the job.
            at: Time with a time zone; None for the current time.

        Raises:
            ValueError: `at` has no time zone.
        """
        running = self._require_running()

        async def report() -> PeriodReport:
            store = running.registrar.store
            at_ms = await store.now() if at is None else instant(at) * 1000
            return await why(store, name, at_ms, shared=running.shared)

        return await running.run_in_loop(report)

    async def pause(self, name: str) -> None:
        """Pause a job in every process until it is resumed."""
        running = self._require_running()
        await running.run_in_loop(lambda: running.registrar.pause(name, ACTOR))

    async def resume(self, name: str) -> None:
        """Resume a job. Periods that passed during the pause are dropped."""
        running = self._require_running()

        async def resume_job() -> None:
            await running.registrar.resume(name, ACTOR)
            running.worker.notify()

        await running.run_in_loop(resume_job)

    async def trigger(self, name: str) -> str:
        """Run a job now, in addition to its schedule, and return the key of the run."""
        running = self._require_running()

        async def trigger_job() -> str:
            run = await running.registrar.trigger(name, uuid4().hex)
            running.worker.notify()
            return run.key

        return await running.run_in_loop(trigger_job)

    async def delete(self, name: str) -> None:
        """Delete a job here and in the store. Its history is kept. A process that declares the job defines it again."""
        running = self._require_running()

        async def delete_job() -> None:
            await running.registrar.delete(name, ACTOR)
            self.declared.pop(name, None)

        await running.run_in_loop(delete_job)

    async def __aenter__(self) -> Scheduler:
        if self._inside:
            raise UsageError("RUNNING", "the scheduler is running already", hint="create another Scheduler")
        running = Running(self._setup)
        await running.begin()
        while not self._entered(running):
            await running.define_all()
        return self

    def _entered(self, running: Running) -> bool:
        """Return whether all declared jobs are defined; from then on, `add` defines a job itself."""
        with self._lock:
            if running.missing:
                return False
            self._inside = running
            return True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, self._inside = self._inside, None
        if running:
            await running.end(self.patience)

    def run(self) -> None:
        """Run until `stop` is called from another thread or from a job, or until Ctrl-C."""
        if current_loop():
            hint = "use `async with scheduler:`, or call run() in a separate thread"
            raise UsageError("IN_A_LOOP", "run() cannot be called inside an event loop", hint=hint)
        loop, pool = asyncio.new_event_loop(), ThreadPoolExecutor(thread_name_prefix="kron-loop")
        loop.set_default_executor(pool)  # threads of asyncio's own executor could not be abandoned
        serve_task = loop.create_task(self._serve(loop))
        try:
            loop.run_until_complete(serve_task)
        except KeyboardInterrupt:
            serve_task.cancel()
            loop.run_until_complete(asyncio.wait([serve_task]))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            loop.close()

    def stop(self) -> None:
        """End `run`, from any thread."""
        if self._stop_request:
            loop, stop_event = self._stop_request
            loop.call_soon_threadsafe(stop_event.set)

    async def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        self._stop_request = loop, asyncio.Event()
        try:
            async with self:
                await self._stop_request[1].wait()
        finally:
            self._stop_request = None

    def _require_running(self) -> Running:
        if not self._inside:
            raise UsageError("NOT_RUNNING", "the scheduler is not running", hint="call it inside `async with`")
        return self._inside
