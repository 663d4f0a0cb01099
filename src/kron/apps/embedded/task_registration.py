"""Registration of tasks: functions under a name, for jobs that are created at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kron.apps.embedded.core import SchedulerCore
from kron.apps.embedded.options import ExecutorName
from kron.apps.embedded.task import Task, task_of
from kron.errors import AlreadyExists

F = TypeVar("F", bound=Callable[..., Any])


class TaskRegistration(SchedulerCore):
    """Registers tasks."""

    def task(self, function: F | None = None, *, name: str | None = None, executor: ExecutorName | None = None) -> Any:
        """Register a function under its name, or another one: `@s.task` or `@s.task(name="send")`.

        `executor="process"` calls a plain function in a child process of its own, for all jobs of the task.

        Register it in every process that shares the store. A process runs only the jobs of tasks that it registers.
        """

        def register(function: F) -> F:
            self._register_task(task_of(function, name, executor))
            return function

        return register if function is None else register(function)

    def _register_task(self, task: Task) -> None:
        with self._lock:
            if task.name in self._setup.tasks or task.name in self.declared:
                hint = "use another name: @s.task(name=...)"
                raise AlreadyExists("DUPLICATE_JOB", f"{task.name!r} is registered already", hint=hint)
            self._setup.tasks[task.name] = task
