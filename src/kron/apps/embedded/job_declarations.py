"""All declarations of a scheduler: jobs, tasks and event handlers, also those of job sets that it includes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from kron.apps.embedded.declarations import Declarations
from kron.apps.embedded.declared import Declared
from kron.apps.embedded.handler_registration import HandlerRegistration
from kron.apps.embedded.run_event import RunEventKind
from kron.apps.embedded.running import Setup
from kron.apps.embedded.task import Task
from kron.apps.embedded.task_registration import TaskRegistration


class JobDeclarations(Declarations, TaskRegistration, HandlerRegistration):
    """Declares jobs, registers tasks and event handlers, and passes all of them on to where it is included."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._included_in: WeakSet[JobDeclarations] = WeakSet()

    def include(self, jobs: JobDeclarations) -> None:
        """Declare the jobs, tasks and event handlers of a set here, including those that it declares later.

        Raises:
            AlreadyExists: A job or a task of the same name exists.
            UsageError: A job has `transaction=True`, and the store is not PostgreSQL.
        """
        for declared in list(jobs.declared.values()):
            self._declare(declared)
        for task in list(jobs._setup.tasks.values()):
            self._register_task(task)
        for kind, handlers in jobs._setup.handlers.handlers.items():
            for handler in handlers:
                self._register_handler(kind, handler)
        jobs._included_in.add(self)

    def _declare(self, declared: Declared) -> str:
        name = super()._declare(declared)
        for each in self._included_in:
            each._declare(declared)
        return name

    def _register_task(self, task: Task) -> None:
        super()._register_task(task)
        for each in self._included_in:
            each._register_task(task)

    def _register_handler(self, kind: RunEventKind, handler: Callable[..., Any]) -> None:
        super()._register_handler(kind, handler)
        for each in self._included_in:
            each._register_handler(kind, handler)
