"""Launcher of the functions of this process, with heartbeats while they run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from kron.apps.embedded.child_process import call_in_process
from kron.apps.embedded.current_run import as_current, run_of
from kron.apps.embedded.declared import Declared
from kron.apps.embedded.registry import Registry
from kron.apps.embedded.withheld_runs import WithheldRuns
from kron.apps.embedded.wrap import Wrap, unwrapped
from kron.engine.clock import Timer
from kron.engine.events import Event, Sink, about, silent
from kron.engine.launcher import Launch
from kron.engine.report_writer import ReportWriter
from kron.engine.store import Store, Transactional
from kron.errors import Fenced, KronError
from kron.launchers.python import PythonLauncher, call, plain
from kron.launchers.slots import Slots
from kron.launchers.threads import Threads
from kron.rules.excerpt import excerpt_of_error
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report, failed_run
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.schedule.policy import SECOND

HEARTBEATS_PER_LEASE = 6
MAX_SLOT_WAIT_SECONDS = 0.4  # seconds that a launch waits for a free slot; a longer launch would count as slow
MAX_RETRY_SECONDS = (
    3_600.0  # seconds for which recording the end of a run is retried; no other process can do it if the store is down
)
LAST_RETRY_SECONDS = 5.0  # seconds of these retries when the scheduler stops; then the lease of the run expires
log = logging.getLogger("kron.scheduler")


class Functions:
    """Launcher of functions. It defers jobs that another process declares and this one does not."""

    is_local = True

    def __init__(
        self,
        registry: Registry,
        store: Store,
        timer: Timer,
        workers: int,
        coroutines: int | None = None,
        sink: Sink = silent,
        wrap: Wrap = unwrapped,
    ) -> None:
        self.registry, self.store, self.timer = registry, store, timer
        self.on_end: Callable[[], None] = lambda: None  # called when a function has ended
        self.sink, self.wrap = sink, wrap
        self.reports, self.threads = ReportWriter(store, self._emit, timer), Threads(workers)
        self.coroutines = None if coroutines is None else Slots(coroutines)
        self.withheld = {slots: WithheldRuns(slots, store) for slots in (self.threads.slots, self.coroutines) if slots}
        self.reserved: dict[str, Slots] = {}  # taken for a key, until its function is called
        self.starts: dict[str, float] = {}  # timer time at which the function of a key started
        self.endings: dict[str, dict[str, Any]] = {}  # facts about the end of a function, until it is recorded
        self.threaded: set[str] = set()  # keys of runs whose functions run in a thread
        self.abandoned: set[str] = set()  # those of them that are no longer awaited
        self.python = PythonLauncher(lambda _: self._call, self._report, registry.names)
        self.names, self.holds, self.unrecorded = self.python.names, self.python.holds, self.python.unrecorded

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        """Start the function, if this process declares it and has a free slot for it.

        Without a free slot, nothing is started: the record says so, and any process can start the run.
        """
        if not self.registry.can_run(launch.job):
            log.warning("job %r is due, but this process does not declare it", launch.job.name)
            return LaunchResponse(LaunchResult.RETRYABLE, excerpt="this process does not declare the job")
        if not self.python.continues(launch):
            await self.python.cancel(launch.run)
            cause = await self._reserve_slot(launch)
            if cause is not None:
                return cause
        result = await self.python.start(launch)
        is_running = result is LaunchResult.OK
        return LaunchResponse(LaunchResult.OK, report=Report.STARTED) if is_running else result

    async def _reserve_slot(self, launch: Launch) -> LaunchResponse | None:
        """Take a slot for a run. Returns the response if there is none; None if the run has a slot or needs none."""
        try:
            key, is_plain = launch.run.key, plain(self.registry.find(launch.job).function)
        except KronError:
            return None  # the call fails for the same reason, and is recorded
        slots = self.threads.slots if is_plain else self.coroutines
        if slots is None:
            return None
        withheld = self.withheld[slots]
        limit = f"{'max_workers' if is_plain else 'max_coroutines'}={slots.size}"
        if slots.full and not launch.run.unsent:
            what = "thread" if is_plain else "coroutine"
            log.warning("job %r is waiting for a free %s; Scheduler(%s)", launch.job.name, what, limit)
        try:
            if slots.full and slots.idle_seconds() > MAX_SLOT_WAIT_SECONDS:
                raise TimeoutError  # the functions that run are long
            await self.timer.within(MAX_SLOT_WAIT_SECONDS, slots.take())
        except TimeoutError:
            text = f"as many functions are running as Scheduler({limit}) allows"
            return LaunchResponse(LaunchResult.UNSENT, withheld.add(key), excerpt=text)
        withheld.forget(key)
        self.reserved[key] = slots
        return None

    async def cancel(self, run: Run) -> None:
        """Cancel an async function; a plain function continues."""
        await self.python.cancel(run)

    async def ended(self, timeout: float) -> None:
        """Wait up to `timeout` seconds until no function runs; then cancel async functions and abandon plain ones."""
        for withheld in self.withheld.values():
            await withheld.release()
        tasks = self.python.unfinished()
        if tasks:
            _, unfinished = await asyncio.wait(tasks, timeout=max(0.0, timeout))
            self.abandoned |= self.threaded
            for task in unfinished:
                task.cancel()
            if unfinished:
                await asyncio.wait(unfinished, timeout=1.0)
        self.reports.stop_retrying(LAST_RETRY_SECONDS)
        recording = [task for key, task in self.python.tasks.items() if key not in self.python.running]
        if recording:
            await asyncio.wait(recording, timeout=2 * LAST_RETRY_SECONDS)

    async def _call(self, launch: Launch) -> None:
        declared = self.registry.find(launch.job)
        key, threaded = launch.run.key, plain(declared.function)
        slots = self.reserved.pop(key, None)

        def mark_started() -> None:
            nonlocal slots
            self.starts[key] = self.timer.monotonic()
            self.sink(about("run_started", launch.run.sent, launch.run))
            if threaded:
                self.threaded.add(key)
                slots = None  # the thread has the slot from now on

        try:
            async with self._heartbeats(launch):
                with as_current(run_of(launch)):
                    await self._execute(declared, launch, mark_started)
        finally:
            if slots is not None:
                slots.free()

    async def _execute(self, declared: Declared, launch: Launch, mark_started: Callable[[], None]) -> None:
        function = partial(self.wrap(declared.function), *declared.args, **declared.kwargs)
        if declared.process:
            call_wrapped = self.wrap(call_in_process)
            function = partial(call_wrapped, declared.function, declared.args, dict(declared.kwargs))
        if plain(function):
            await call(function, self.threads, mark_started)
            return
        if declared.transaction:
            mark_started()
            await self._call_in_transaction(declared, launch)
        else:
            await call(function, self.threads, mark_started)

    async def _call_in_transaction(self, declared: Declared, launch: Launch) -> None:
        assert isinstance(self.store, Transactional)  # noqa: S101  ensured when the job was declared
        async with self.store.transaction(launch.run, launch.job.schedule.policy) as connection:
            await self.wrap(declared.function)(connection, *declared.args, **declared.kwargs)

    @asynccontextmanager
    async def _heartbeats(self, launch: Launch) -> AsyncIterator[None]:
        """Send heartbeats while the function runs, so that its run does not count as lost."""
        heartbeat_task = asyncio.create_task(self._send_heartbeats(launch))
        try:
            yield
        finally:
            heartbeat_task.cancel()

    async def _send_heartbeats(self, launch: Launch) -> None:
        while True:
            await self.timer.sleep(launch.job.schedule.policy.run_lease / SECOND / HEARTBEATS_PER_LEASE)
            try:
                await self._write(launch, Report.STARTED)
            except Exception as error:
                log.warning("heartbeat of job %r failed: %s", launch.job.name, error)

    async def _report(self, launch: Launch, report: Report, error: BaseException | None) -> None:
        name, key, declared = launch.job.name, launch.run.key, self.registry.declared.get(launch.job.name)
        self.threaded.discard(key)
        seconds = self.timer.monotonic() - self.starts.pop(key, self.timer.monotonic())
        if key in self.abandoned:
            self.abandoned.discard(key)
            log.warning("job %r still runs in its thread; its end will not be recorded", name)
            return  # its lease will expire
        if isinstance(error, Fenced):
            log.warning("job %r: %s", name, error.message)
            return  # another worker is responsible for the run
        self.endings[key] = {"duration_ms": round(seconds * 1000)} | ({"exception": error} if error else {})
        try:
            if report is Report.SUCCESS and declared and declared.transaction:
                self._emit_end(launch, State.SUCCESS, seconds)  # recorded in the transaction of the function
                self.on_end()
                return
            if error is not None:
                log.error("job %r failed", name, exc_info=error)
            elif report is Report.FAILED:
                log.warning("job %r was canceled", name)
            canceled = "the function was canceled" if report is Report.FAILED else ""
            is_recorded = await self._record(launch, report, excerpt_of_error(error) or canceled)
            if is_recorded and report is Report.FAILED and _will_retry(launch):
                self._emit_end(launch, State.WAITING, seconds, "run_recorded")
        finally:
            self.endings.pop(key, None)

    def _emit_end(self, launch: Launch, state: State, seconds: float, name: str = "run_finished") -> None:
        """Emit the end of an attempt that the writer of reports does not emit."""
        reason = Reason.FAILED if state is State.WAITING else None
        run = launch.run._replace(state=state, outcome=Outcome.EXECUTED, reason=reason)
        self._emit(about(name, launch.run.sent + round(seconds * 1000), run))

    def _emit(self, event: Event) -> None:
        """Emit an event; one about the end of a function has its duration and its exception."""
        ending = self.endings.get(event.facts.get("key", ""))
        self.sink(replace(event, facts={**event.facts, **ending}) if ending else event)

    async def _write(self, launch: Launch, report: Report, **more: Any) -> bool:
        run, policy = launch.run, launch.job.schedule.policy
        return await self.reports.write(run.key, report, run.attempt, policy=policy, **more)

    async def _record(self, launch: Launch, report: Report, excerpt: str) -> bool:
        """Record the end of a function. Returns False if the end does not count or could not be recorded."""
        name = launch.job.name

        def log_failure(error: Exception) -> None:
            log.warning("recording the end of job %r failed and is retried: %s", name, error)

        try:
            accepted = await self._write(launch, report, longest=MAX_RETRY_SECONDS, failed=log_failure, excerpt=excerpt)
        except Exception as error:
            log.error("the end of job %r could not be recorded: %s", name, error)
            return False
        if not accepted and report is Report.SUCCESS:
            log.warning("the end of job %r came too late: its run is already lost or finished", name)
        self.on_end()
        return accepted


def _will_retry(launch: Launch) -> bool:
    """Return whether a run that failed runs again."""
    failed = failed_run(launch.run, launch.job.schedule.policy, launch.run.sent, Reason.FAILED)
    return failed.state is State.WAITING
