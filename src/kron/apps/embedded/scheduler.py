"""A scheduler for applications: functions of the process, run on schedules, remembered in a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar, Unpack
from uuid import uuid4

from kron.apps.embedded.declared import Declared, check_words, declare
from kron.apps.embedded.options import JobOptions, check_given, read_options
from kron.apps.embedded.running import ASKER, Running, current_loop
from kron.apps.wiring import POSTGRES, check_url
from kron.clock import Clock, SystemTimer, Timer
from kron.core.zone import instant, moment
from kron.errors import KronError
from kron.events import Sink, silent
from kron.launchers.threads import THREADS
from kron.maintenance import RETENTION_DAYS
from kron.settings import Settings
from kron.why import Account, why

F = TypeVar("F", bound=Callable[..., Any])


class Scheduler:
    """Runs functions on schedules: `async with Scheduler("sqlite:jobs.db") as s:`, or `run()` in a script or thread.

    Several processes may share a database: each period runs in one of them. It installs no signal handlers, and logs
    to `kron.scheduler` only. `patience` is how many seconds the end waits for functions that are still running, and
    `threads` how many plain functions run at once.
    `retention` is how many days the records of ended runs and deleted jobs are kept; None keeps them permanently.
    """

    def __init__(
        self,
        store: str = "sqlite:jobs.db",
        *,
        sink: Sink = silent,
        patience: float = 30.0,
        threads: int = THREADS,
        clock: Clock | None = None,
        timer: Timer | None = None,
        settings: Settings = Settings(),  # noqa: B008  a frozen value
        retention: int | None = RETENTION_DAYS,
    ) -> None:
        check_url(store)
        check_given(threads, patience, retention, sink, settings)
        self.url, self.sink, self.patience, self.threads = store, sink, patience, threads
        self.clock, self.timer, self.settings = clock, timer or SystemTimer(), settings
        self.retention = retention
        self.declared: dict[str, Declared] = {}
        self._lock = Lock()  # who adds a job, and who begins, see the same jobs
        self._inside: Running | None = None
        self._asked: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def job(
        self,
        schedule: str,
        *,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[JobOptions],
    ) -> Callable[[F], F]:
        """Declare a job: `@s.job("daily around 14:00")`. The words are a sentence, unless `dialect=` says otherwise.

        `zone`, `overlap`, `catchup`, `deadline`, `retry` and `restart` say where it is read and what becomes of runs
        that overlap, were missed, are late, fail, or lose their process. The function is called with the arguments;
        with `transaction=True` after a connection, whose writes are committed with the success of the run.
        """
        check_words(schedule)
        read_options(options)

        def declared(function: F) -> F:
            self.add(function, schedule, name=name, args=args, kwargs=kwargs, **options)
            return function

        return declared

    def cron(self, schedule: str, **more: Any) -> Callable[[F], F]:
        """Declare a job by a POSIX cron line: `@s.cron("0 9 * * 1-5")`."""
        return self.job(schedule, dialect="posix", **more)

    def kron(self, schedule: str, **more: Any) -> Callable[[F], F]:
        """Declare a job by a line of Kron's own dialect: `@s.kron("0 9 * * MON-FRI @win(after,30m)")`."""
        return self.job(schedule, dialect="kron", **more)

    def add(
        self,
        function: Callable[..., Any] | str,
        schedule: str,
        *,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[JobOptions],
    ) -> str:
        """Declare a job of a function or of `package.module:function`; its name, which is the function's by default.

        From any thread. While the scheduler runs, another thread than its own waits until the job is in the store.
        """
        declared = declare(function, schedule, read_options(options), name, args, {} if kwargs is None else kwargs)
        if declared.transaction and self.url.partition(":")[0] not in POSTGRES:
            message = f"the job {declared.name!r} asks for a transaction, and its store is not in PostgreSQL"
            raise KronError("NO_TRANSACTION", message, hint="use postgresql://..., where its own tables are")
        with self._lock:
            if declared.name in self.declared:
                hint = f'give another one, name="...", or first `await s.forget({declared.name!r})`'
                raise KronError("DUPLICATE_JOB", f"there is a job {declared.name!r} already", hint=hint)
            self.declared[declared.name] = declared
            inside = self._inside
        if inside:
            inside.define(declared)
        return declared.name

    async def next(self, name: str) -> datetime | None:
        """When a job will run next, on the wall clock of its zone; None if it will not.

        This and what follows can be asked in any thread: `asyncio.run(s.next("report"))`.
        """
        inside = self._running()

        async def ask() -> datetime | None:
            coming = await inside.registrar.preview(name, 1)
            zone = (await inside.registrar.get(name)).job.schedule.zone
            return moment(coming[0] // 1000).astimezone(zone.rules) if coming else None

        return await inside.ask(ask)

    async def why(self, name: str, at: datetime | None = None) -> Account:
        """The account of a job's last period up to an instant, by default now: what became of it, and why.

        A time without a zone is no instant: ValueError.
        """
        inside = self._running()

        async def ask() -> Account:
            store = inside.registrar.store
            then = await store.now() if at is None else instant(at) * 1000
            return await why(store, name, then, shared=inside.shared)

        return await inside.ask(ask)

    async def pause(self, name: str) -> None:
        """Let a job rest, in every process, until it is resumed."""
        inside = self._running()
        await inside.ask(lambda: inside.registrar.pause(name, ASKER))

    async def resume(self, name: str) -> None:
        """Let a job go on. What it would have run meanwhile is dropped."""
        inside = self._running()

        async def ask() -> None:
            await inside.registrar.resume(name, ASKER)
            inside.passes.nudge()

        await inside.ask(ask)

    async def trigger(self, name: str) -> str:
        """Run a job now, beside its schedule; the key of the run."""
        inside = self._running()

        async def ask() -> str:
            run = await inside.registrar.trigger(name, uuid4().hex)
            inside.passes.nudge()
            return run.key

        return await inside.ask(ask)

    async def forget(self, name: str) -> None:
        """Delete a job, here and in the store. Its history stays. A process that declares it defines it again."""
        inside = self._running()

        async def ask() -> None:
            await inside.registrar.delete(name, ASKER)
            self.declared.pop(name, None)

        await inside.ask(ask)

    async def __aenter__(self) -> Scheduler:
        if self._inside:
            raise KronError("RUNNING", "the scheduler is running already", hint="make another one")
        inside = Running(self)
        await inside.begin()
        while not self._entered(inside):
            await inside.define_all()
        return self

    def _entered(self, inside: Running) -> bool:
        """Whether all that is declared is defined; from then on, who adds a job defines it."""
        with self._lock:
            if inside.missing:
                return False
            self._inside = inside
            return True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inside, self._inside = self._inside, None
        if inside:
            await inside.end(self.patience)

    def run(self) -> None:
        """Run until `stop` is called from another thread or from a job, or until Ctrl-C."""
        if current_loop():
            hint = "write `async with scheduler:`, or call run() in a thread of its own"
            raise KronError("IN_A_LOOP", "run() cannot be called inside an event loop", hint=hint)
        loop, pool = asyncio.new_event_loop(), ThreadPoolExecutor(thread_name_prefix="kron-loop")
        loop.set_default_executor(pool)  # asyncio's own could only be waited for
        serving = loop.create_task(self._serve(loop))
        try:
            loop.run_until_complete(serving)
        except KeyboardInterrupt:
            serving.cancel()
            loop.run_until_complete(asyncio.wait([serving]))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            loop.close()

    def stop(self) -> None:
        """End `run`, from any thread."""
        if self._asked:
            loop, asked = self._asked
            loop.call_soon_threadsafe(asked.set)

    async def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        self._asked = loop, asyncio.Event()
        try:
            async with self:
                await self._asked[1].wait()
        finally:
            self._asked = None

    def _running(self) -> Running:
        if not self._inside:
            raise KronError("NOT_RUNNING", "the scheduler is not running", hint="ask inside `async with`")
        return self._inside
