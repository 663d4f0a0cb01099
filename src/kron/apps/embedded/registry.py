"""Registry: which functions this process can run, for declared jobs and for jobs of tasks."""

from __future__ import annotations

from collections.abc import Mapping

from kron.apps.embedded.declared import SCHEME, Declared
from kron.apps.embedded.task import Task, declared_of
from kron.timing.job import Job


class Registry:
    """Declared jobs and tasks of a scheduler. Both are filled while the scheduler runs."""

    def __init__(self, declared: Mapping[str, Declared], tasks: Mapping[str, Task]) -> None:
        self.declared, self.tasks = declared, tasks

    def names(self) -> list[str]:
        """Return the names that targets of this process have: those of declared jobs and of tasks."""
        return [*self.declared, *self.tasks]

    def can_run(self, job: Job) -> bool:
        """Return whether this process has the function of a job."""
        return job.target.removeprefix(f"{SCHEME}:") in (self.tasks if job.payload else self.declared)

    def find(self, job: Job) -> Declared:
        """Return a job with its function and its arguments. Call it only if `can_run` is true.

        Raises:
            UsageError: The function of a task does not accept the arguments of the job.
        """
        name = job.target.removeprefix(f"{SCHEME}:")
        return declared_of(self.tasks[name], job) if job.payload else self.declared[name]
