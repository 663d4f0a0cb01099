"""Jobs of tasks: created, replaced and rescheduled at run time. Each is a row in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as with_values
from datetime import datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from kron.apps.embedded.core import SchedulerCore
from kron.apps.embedded.job_info import JobInfo, info_of_job
from kron.apps.embedded.job_schedule import check_schedule, read_schedule
from kron.apps.embedded.options import CatchupName, Duration, JobOptions, OverlapName, check_options, with_known_options
from kron.apps.embedded.running import ACTOR
from kron.apps.embedded.task import TaskCall, find_task, job_of_task, task_of
from kron.errors import AlreadyExists, RevisionConflict
from kron.language.dialect import DialectName
from kron.language.source import source_of
from kron.timing.job import Job

F = TypeVar("F", bound=Callable[..., Any])


class TaskJobs(SchedulerCore):
    """Registers tasks, and creates jobs of them while the scheduler runs."""

    def task(self, function: F | None = None, *, name: str | None = None) -> Any:
        """Register a function under its name, or another one: `@s.task` or `@s.task(name="send")`.

        Register it in every process that shares the store. A process runs only the jobs of tasks that it registers.
        """

        def register(function: F) -> F:
            task = task_of(function, name)
            with self._lock:
                if task.name in self._setup.tasks or task.name in self.declared:
                    hint = "use another name: @s.task(name=...)"
                    raise AlreadyExists("DUPLICATE_JOB", f"{task.name!r} is registered already", hint=hint)
                self._setup.tasks[task.name] = task
            return function

        return register if function is None else register(function)

    @with_known_options
    async def create(
        self,
        name: str,
        task: Callable[..., Any] | str,
        schedule: str | None = None,
        *,
        every: Duration | None = None,
        at: datetime | Sequence[datetime] | None = None,
        dialect: DialectName | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        timezone: str | ZoneInfo | None = None,
        overlap: OverlapName | None = None,
        catchup: CatchupName | None = None,
        deadline: Duration | None = None,
        retry_delay: Duration | None = None,
        retry_attempts: int | None = None,
        timeout: Duration | None = None,
        replace: bool = False,
    ) -> JobInfo:
        """Create a job of a task: `await s.create("reminder-42", send_reminder, at=when, kwargs={"user": 42})`.

        The arguments are stored as JSON, and checked against the signature of the function. `labels` are up to 32 keys
        with values, by which `jobs` lists. `replace` replaces a job of that name. Options as in `job`.

        Raises:
            AlreadyExists: A job of that name exists, and `replace` is False.
            UsageError: The task is not registered, or does not accept the arguments.
        """
        policy = {"overlap": overlap, "catchup": catchup, "deadline": deadline, "timeout": timeout}
        retry = {"retry_delay": retry_delay, "retry_attempts": retry_attempts}
        options = JobOptions(timezone=timezone, dialect=dialect, every=every, at=at, **policy, **retry)  # type: ignore[arg-type]
        registered = find_task(self._setup.tasks, task)
        job = job_of_task(name, registered, schedule, check_options(options), TaskCall(args, kwargs, labels))
        return await self._define(job, expected=None if replace else 0)

    @with_known_options
    async def reschedule(
        self,
        name: str,
        schedule: str | None = None,
        *,
        every: Duration | None = None,
        at: datetime | Sequence[datetime] | None = None,
        dialect: DialectName | None = None,
        timezone: str | ZoneInfo | None = None,
    ) -> JobInfo:
        """Give a job another schedule. Its task, arguments, labels and policy stay.

        Raises:
            NotFound: The job does not exist.
            RevisionConflict: The job was changed concurrently.
        """
        running = self._require_running()
        state = await running.run_in_loop(lambda: running.registrar.get(name))
        zone = state.job.schedule.zone.name if timezone is None else timezone
        options = check_options(JobOptions(timezone=zone, dialect=dialect, every=every, at=at))
        check_schedule(schedule, options)
        reading = read_schedule(schedule, name, options)
        new_schedule = with_values(reading.schedule, policy=state.job.schedule.policy)
        source = source_of(reading.text, reading.dialect, new_schedule)
        job = with_values(state.job, schedule=new_schedule, source=source)
        return await self._define(job, expected=state.revision)

    async def _define(self, job: Job, expected: int | None) -> JobInfo:
        running = self._require_running()

        async def define() -> JobInfo:
            try:
                state = await running.registrar.upsert(job, ACTOR, expected=expected)
            except RevisionConflict:
                if expected != 0:
                    raise
                hint = "use another name, or replace=True"
                raise AlreadyExists("DUPLICATE_JOB", f"job {job.name!r} already exists", hint=hint) from None
            running.worker.notify()
            return info_of_job(state, await running.registrar.store.now(), running.functions.registry.can_run(job))

        return await running.run_in_loop(define)
