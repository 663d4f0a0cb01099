"""Callbacks: each is called when its task is launched, and its end is recorded before it is reported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from kron.apps.declarative.registration import Task
from kron.engine.events import Event
from kron.engine.launcher import Launch
from kron.engine.report_writer import ReportWriter
from kron.launchers.python import Function, PythonLauncher, call
from kron.launchers.threads import Threads
from kron.rules.excerpt import excerpt_of_error
from kron.rules.launch_result import Report
from kron.rules.run_state import State

SHUTDOWN_RETRY_SECONDS = 5.0  # for retries when the scheduler stops; then the next scheduler starts the task again
MAX_RETRY_SECONDS = float("inf")  # seconds for which recording an end is retried: another process cannot do it
log = logging.getLogger("kron.declarative")

EmitEvent = Callable[..., None]


class Callbacks:
    """Calls the callbacks of tasks, and tracks those that are running."""

    def __init__(self, tasks: Mapping[str, Task], reports: ReportWriter, emit_scheduler_event: EmitEvent) -> None:
        self.tasks, self.reports, self.emit_scheduler_event = tasks, reports, emit_scheduler_event
        self.on_end: Callable[[], None] = lambda: None  # called when a callback has ended
        self.threads = Threads()
        self.launcher = PythonLauncher(self._function, self._report)
        self.late_start_ms = 60_000 * max(1, len(tasks) // 10_000)  # lateness above which a start is logged

    async def stop(self) -> None:
        """Wait until no callback runs. An end that cannot be recorded is given up after some seconds."""
        self.reports.stop_retrying(SHUTDOWN_RETRY_SECONDS)
        await self.launcher.ended()

    def _function(self, name: str) -> Function | None:
        return partial(self._call, self.tasks[name]) if name in self.tasks else None

    async def _call(self, task: Task, launch: Launch) -> None:
        is_retry = launch.run.outcome is not None
        lateness_ms = launch.run.sent - max(launch.run.due, launch.run.not_before)
        if lateness_ms > self.late_start_ms:
            log.warning("task %r starts %.0f s late", task.name, lateness_ms / 1000)
        event_name = "TaskRetryStarted" if is_retry else "TaskRunStarted"
        self.emit_scheduler_event(
            event_name,
            taskName=task.name,
            lastAttemptAt=launch.run.sent,
            latenessMs=lateness_ms,
            attempt=launch.run.attempt,
        )
        await call(task.callback, self.threads)

    async def _report(self, launch: Launch, report: Report, error: BaseException | None) -> None:
        name, run, policy = launch.job.name, launch.run, launch.job.schedule.policy
        if error is not None:
            log.warning("task %r failed", name, exc_info=error)

        def log_failure(write_error: Exception) -> None:
            log.warning("recording the end of task %r failed and is retried: %s", name, write_error)

        canceled = "the callback was canceled" if report is Report.FAILED else ""
        try:
            accepted = await self.reports.write(
                run.key,
                report,
                run.attempt,
                policy=policy,
                longest=MAX_RETRY_SECONDS,
                failed=log_failure,
                excerpt=excerpt_of_error(error) or canceled,
            )
        except Exception as write_error:
            log.error("the end of task %r could not be recorded: %s", name, write_error)
            return
        if not accepted:
            log.warning("the end of task %r came too late: another scheduler has taken it over", name)
        elif report is Report.SUCCESS:
            self.emit_scheduler_event("TaskRunCompleted", taskName=name)
        else:
            self.emit_scheduler_event("TaskRunFailed", taskName=name, error=repr(error))
        self.on_end()


def preempted(event: Event) -> str | None:
    """Return the identity of a retry that a newer period replaced, if the event reports that; else None."""
    ended = event.name == "run_finished" and event.facts["state"] == State.FAILED
    return str(event.facts["identity"]) if ended else None
