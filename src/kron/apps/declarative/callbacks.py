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
from kron.rules.launch_result import Report
from kron.rules.run import State

LAST_TRIES_S = 5.0  # seconds of retries when the scheduler stops; then the next scheduler starts the task again
LONGEST = float("inf")  # seconds for which recording an end is retried: another process cannot do it
log = logging.getLogger("kron.declarative")

Say = Callable[..., None]


class Callbacks:
    """Calls the callbacks of tasks, and tracks those that are running."""

    def __init__(self, tasks: Mapping[str, Task], reports: ReportWriter, say: Say) -> None:
        self.tasks, self.reports, self.say = tasks, reports, say
        self.ended: Callable[[], None] = lambda: None  # called when a callback has ended
        self.threads = Threads()
        self.launcher = PythonLauncher(self._function, self._report)
        self.slowest = 60_000 * max(1, len(tasks) // 10_000)  # lateness in milliseconds above which a start is logged

    async def stop(self) -> None:
        """Wait until no callback runs. An end that cannot be recorded is given up after some seconds."""
        self.reports.stop_retrying(LAST_TRIES_S)
        await self.launcher.ended()

    def _function(self, name: str) -> Function | None:
        return partial(self._call, self.tasks[name]) if name in self.tasks else None

    async def _call(self, task: Task, launch: Launch) -> None:
        again = launch.run.outcome is not None
        late = launch.run.sent - max(launch.run.due, launch.run.not_before)
        if late > self.slowest:
            log.warning("task %r starts %.0f s late", task.name, late / 1000)
        name = "TaskRetryStarted" if again else "TaskRunStarted"
        self.say(name, taskName=task.name, lastAttemptAt=launch.run.sent, latenessMs=late, attempt=launch.run.attempt)
        await call(task.callback, self.threads)

    async def _report(self, launch: Launch, report: Report, error: BaseException | None) -> None:
        name, run, policy = launch.job.name, launch.run, launch.job.schedule.policy
        if error is not None:
            log.warning("task %r failed", name, exc_info=error)

        def failed(trouble: Exception) -> None:
            log.warning("recording the end of task %r failed and is retried: %s", name, trouble)

        try:
            accepted = await self.reports.write(
                run.key, report, run.attempt, policy=policy, longest=LONGEST, failed=failed
            )
        except Exception as trouble:
            log.error("the end of task %r could not be recorded: %s", name, trouble)
            return
        if not accepted:
            log.warning("the end of task %r came too late: another scheduler has taken it over", name)
        elif report is Report.SUCCESS:
            self.say("TaskRunCompleted", taskName=name)
        else:
            self.say("TaskRunFailed", taskName=name, error=repr(error))
        self.ended()


def preempted(event: Event) -> str | None:
    """Return the identity of a retry that a newer period replaced, if the event reports that; else None."""
    ended = event.name == "run_finished" and event.facts["state"] == State.FAILED
    return str(event.facts["identity"]) if ended else None
