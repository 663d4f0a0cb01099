"""Scheduler for applications: runs functions of the process on schedules, and keeps its state in a store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kron.apps.embedded.background import BackgroundThread, run_in_new_loop
from kron.apps.embedded.blocking_jobs import BlockingJobs
from kron.apps.embedded.current_run import current_run
from kron.apps.embedded.declared import Declared
from kron.apps.embedded.job_declarations import JobDeclarations
from kron.apps.embedded.known_options import with_known_arguments
from kron.apps.embedded.options import check_arguments, check_calls
from kron.apps.embedded.requests import Requests
from kron.apps.embedded.run_handlers import RunHandlers
from kron.apps.embedded.running import Running, Setup, current_loop
from kron.apps.embedded.task_jobs import TaskJobs
from kron.apps.embedded.wrap import Wrap, unwrapped
from kron.apps.wiring import check_url
from kron.engine.clock import Clock, SystemTimer, Timer
from kron.engine.events import Sink, silent
from kron.engine.maintenance import RETENTION_DAYS
from kron.engine.settings import Settings
from kron.errors import InvalidSetting, UsageError
from kron.launchers.threads import THREADS

if TYPE_CHECKING:
    from kron.apps.embedded.scheduler_dashboard import SchedulerDashboard


class Scheduler(JobDeclarations, Requests, TaskJobs):
    """Runs functions on schedules: `async with Scheduler("sqlite:jobs.db") as s:`, or `run()` in a script or thread.

    Several processes can share a database: each period runs in one of them. The scheduler installs no signal handlers
    and logs to `kron.scheduler` only.

    Args:
        store: Store URL: `sqlite:PATH`, `postgresql://HOST/DATABASE` or `memory:`.
        on_event: Function that receives every event.
        shutdown_timeout: Seconds for which the shutdown waits for functions that are still running.
        max_workers: Maximum number of plain functions that run concurrently, in threads and child processes.
        max_coroutines: Maximum number of async functions that run concurrently; None for no limit.
        clock: Clock of the store; None for the default. For tests.
        timer: Timer of the worker; None for the default. For tests.
        settings: Settings of the worker.
        retention: Days for which records of finished runs and deleted jobs are kept; None keeps them permanently.
        run_jobs: Whether this process runs jobs. With False it only creates, controls and inspects jobs, which other
            processes run.
        wrap: Decorator of the functions of jobs and of event handlers, which opens and closes what a call needs. The
            wrapper of an async function must be async. None for no wrapper.

    Options of a job, in `job`, `cron`, `kron` and `add`. Durations are strings such as `"90s"`, or timedeltas:

    - `every`, `at`: an interval, or one datetime or several, in place of a text.
    - `dialect`: dialect of the text. Default: `fuzzy`, a sentence.
    - `name`: name of the job in the store. Default: the name of the function.
    - `args`, `kwargs`: arguments of the function.
    - `timezone`: time zone in which the schedule is evaluated. Default: UTC.
    - `dst`: rule for clock changes, such as `"once"`. Default: the clock on the wall.
    - `overlap`: what to do while the previous run is active: `"skip"` (default), `"allow"`, `"queue"`, `"coalesce"`
      or `"replace"`.
    - `overlap_limit`: maximum number of active runs with `overlap="allow"`. Default: no limit.
    - `catchup`: which missed periods to run: `"latest"` (default), `"none"`, `"all"`, `"spread"` or `"by-deadline"`.
    - `deadline`: how late a run can start. Default: no limit.
    - `retry_delay`: delay before a failed run is retried. Default: no retry.
    - `retry_attempts`: maximum number of retries. Default: no limit.
    - `retry_factor`, `retry_max_delay`, `retry_jitter`: growth of the retry delay with each retry, its maximum, and by
      how many percent it can be shorter. Default: a constant delay.
    - `timeout`: how long a run can take. Default: no limit.
    - `max_runs`: number of scheduled runs after which the job is over. Default: no limit.
    - `pause_on_failure`: number of failed runs in a row after which the job is paused. Default: never.
    - `restart_lost`: whether a run whose process died runs again. Default: only with `transaction`.
    - `executor`: where a plain function runs: `"thread"` (default), or `"process"` for a child process of its own.
    - `transaction`: the first argument of the function is a PostgreSQL connection. Its writes are committed together
      with the success of the run.

    `create` makes a job of a task (`@s.task`) while the scheduler runs. It has the same options except two: `executor`
    belongs to the function, `@s.task(executor="process")`, and only a declared job has a `transaction`. More options:

    - `labels`: keys and values, by which `jobs` lists.
    - `after_end`: `"delete"` deletes the job after its last run. Default: `"keep"`.
    - `replace`: whether a job of the same name is replaced. Default: False, which raises `AlreadyExists`.

    Its arguments must be JSON that the function accepts. Moments (`at`) wait for an active run of the job, unless
    `overlap` is given. It raises `InvalidInput` (`PAST`) if all moments of a new schedule have passed.
    """

    @with_known_arguments
    def __init__(
        self,
        store: str = "sqlite:jobs.db",
        *,
        on_event: Sink = silent,
        shutdown_timeout: float = 30.0,
        max_workers: int = THREADS,
        max_coroutines: int | None = None,
        clock: Clock | None = None,
        timer: Timer | None = None,
        settings: Settings = Settings(),  # noqa: B008  a frozen value
        retention: int | None = RETENTION_DAYS,
        run_jobs: bool = True,
        wrap: Wrap | None = None,
    ) -> None:
        check_url(store)
        check_arguments(max_workers, max_coroutines, shutdown_timeout, retention, on_event, settings)
        check_calls(run_jobs, wrap)
        declared, timer, wrap = dict[str, Declared](), timer or SystemTimer(), wrap or unwrapped
        handlers = RunHandlers(declared, wrap)
        limits = max_workers, max_coroutines
        super().__init__(
            Setup(store, on_event, *limits, clock, timer, settings, retention, declared, {}, handlers, wrap)
        )
        self.patience = shutdown_timeout
        self.run_jobs = run_jobs
        self._is_entered = False
        self._background: BackgroundThread | None = None
        self._stop_request: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @property
    def sync(self) -> BlockingJobs:
        """The methods that control and inspect jobs, for threads without an event loop: `s.sync.pause("report")`."""
        return BlockingJobs(self, self)

    def metrics(self) -> str:
        """Return the metrics of this process in the Prometheus text format. You can call it from any thread."""
        return self._setup.metrics.text()

    def dashboard(self, allow: Callable[[Any], object] | None = None) -> SchedulerDashboard:
        """Return the dashboard of this scheduler as an ASGI application: `app.mount("/kron", s.dashboard())`.

        Args:
            allow: Function or coroutine function that gets the Starlette request and returns `"operator"`, `"viewer"`
                or None. None: only requests of this machine are answered, without a login.

        Raises:
            InvalidSetting: A package is missing.
        """
        try:
            from kron.apps.embedded.scheduler_dashboard import SchedulerDashboard
        except ImportError as error:
            message = f"the dashboard needs a package that is not installed: {error.name}"
            raise InvalidSetting("MISSING_PACKAGE", message, hint="run pip install 'kron-py[dashboard]'") from None
        return SchedulerDashboard(lambda: self._require_running("dashboard"), allow)

    def start(self) -> None:
        """Start the scheduler in a background thread, and return when it runs.

        The thread does not keep the process alive. When the main thread ends, the scheduler is shut down. In a server
        that forks worker processes, start the scheduler after the fork, in each of them.

        Raises:
            KronError: The scheduler cannot start, for example because its store is unavailable.
        """
        self._refuse_fork()
        background = BackgroundThread(self._serve, self.stop)
        background.start()
        self._background = background

    def shutdown(self, wait: bool = True) -> None:
        """End a scheduler that runs in the background; without effect if none runs.

        No new runs start. Functions that are still running have `shutdown_timeout` seconds to end.

        Args:
            wait: Whether to return only when the scheduler has ended. A call in a job or in the event loop of the
                scheduler never waits, because the scheduler waits for it.

        Raises:
            KronError: The scheduler ended with this error, if `wait` is True.
        """
        running, background = self._running, self._background
        is_inside = current_run(None) is not None or (running is not None and current_loop() is running.loop)
        self.stop()
        if background and background.pid == os.getpid() and wait and not is_inside:
            background.join()

    def run(self) -> None:
        """Run until `stop` is called from another thread or from a job, or until Ctrl-C."""
        if current_loop():
            hint = "use `async with scheduler:`, or call start() or run() in a separate thread"
            raise UsageError("IN_A_LOOP", "run() cannot be called inside an event loop", hint=hint)
        run_in_new_loop(lambda: self._serve(lambda: None))

    def stop(self) -> None:
        """End `run`, or what `start` started, from any thread. Returns at once."""
        request = self._stop_request
        if request:
            loop, stop_event = request
            with suppress(RuntimeError):  # the loop is closed: the scheduler has ended
                loop.call_soon_threadsafe(stop_event.set)

    def __enter__(self) -> Scheduler:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    async def __aenter__(self) -> Scheduler:
        self._refuse_fork()
        with self._lock:
            if self._is_entered:
                hint = "start it once with start(), run() or `async with`, or create another Scheduler"
                raise UsageError("RUNNING", "the scheduler is running already", hint=hint)
            self._is_entered = True
        try:
            await self._begin()
        except BaseException:
            self._is_entered = False
            raise
        return self

    async def _begin(self) -> None:
        running = Running(self._setup, self.run_jobs)
        await running.begin()
        try:
            while not self._entered(running):
                await running.define_all()
        except BaseException:
            await running.end(0)
            raise

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
        try:
            if running:
                await running.end(self.patience)
        finally:
            self._is_entered = False

    async def _serve(self, on_running: Callable[[], None]) -> None:
        stop_request = asyncio.get_running_loop(), asyncio.Event()
        self._stop_request = self._stop_request or stop_request
        try:
            async with self:
                on_running()
                await stop_request[1].wait()
        finally:
            if self._stop_request is stop_request:
                self._stop_request = None
