"""Callbacks: each is called when its task is launched, and its end is recorded before it is reported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from kron.apps.declarative.registration import Task
from kron.engine.clock import Timer
from kron.engine.events import Event
from kron.engine.launcher import Launch
from kron.engine.report_writer import Reports
from kron.launchers.python import Function, PythonLauncher, call
from kron.launchers.threads import Threads
from kron.rules.launch_result import Report
from kron.rules.run import State

LONGEST_WAIT = 60  # maximum seconds between two attempts to record an end
LAST_TRIES = 3  # when the scheduler stops; after that, the next scheduler starts the task again
log = logging.getLogger("kron.declarative")

Say = Callable[..., None]


class Callbacks:
    """Calls the callbacks of tasks, and tracks those that are running."""

    def __init__(self, tasks: Mapping[str, Task], reports: Reports, timer: Timer, say: Say) -> None:
        self.tasks, self.reports, self.timer, self.say = tasks, reports, timer, say
        self.ended: Callable[[], None] = lambda: None  # called when a callback has ended
        self.stopping = False
        self.threads = Threads()
        self.launcher = PythonLauncher(self._function, self._report)
        self.slowest = 60_000 * max(1, len(tasks) // 10_000)  # lateness in milliseconds above which a start is logged

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
        name, tries = launch.job.name, 0
        if error is not None:
            log.warning("task %r failed", name, exc_info=error)
        while True:
            try:
                held = await self.reports.say(launch, report)
                break
            except Exception as trouble:
                tries += 1
                log.warning("recording the end of task %r failed: %s", name, trouble)
                if self.stopping and tries >= LAST_TRIES:
                    return
            await self.timer.sleep(min(LONGEST_WAIT, 2 ** min(tries, 10) / 2))
        if not held:
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
