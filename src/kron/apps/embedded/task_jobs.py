"""Jobs of tasks: created, replaced and rescheduled at run time. Each is a row in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as with_values
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from kron.apps.embedded.job_info import JobInfo, info_of_job
from kron.apps.embedded.job_schedule import check_schedule, read_schedule
from kron.apps.embedded.options import (
    AfterEndName,
    CatchupName,
    Duration,
    JobOptions,
    OverlapName,
    check_options,
    with_known_options,
)
from kron.apps.embedded.running import ACTOR
from kron.apps.embedded.task import TaskCall, find_task, job_of_task
from kron.apps.embedded.task_registration import TaskRegistration
from kron.errors import AlreadyExists, RevisionConflict
from kron.language.dialect import DialectName
from kron.language.source import source_of
from kron.timing.job import Job


class TaskJobs(TaskRegistration):
    """Creates jobs of tasks while the scheduler runs."""

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
        max_runs: int | None = None,
        pause_on_failure: int | None = None,
        after_end: AfterEndName | None = None,
        restart_lost: bool | None = None,
        replace: bool = False,
    ) -> JobInfo:
        """Create a job of a task: `await s.create("reminder-42", send_reminder, at=when, kwargs={"user": 42})`.

        Arguments are stored as JSON, and checked against the signature. `jobs` lists by `labels`. Options as in `job`.

        Raises:
            AlreadyExists: A job of that name exists, and `replace` is False.
            UsageError: The task is not registered, or does not accept the arguments.
        """
        policy = {"overlap": overlap, "catchup": catchup, "deadline": deadline, "timeout": timeout}
        retry = {"retry_delay": retry_delay, "retry_attempts": retry_attempts, "restart_lost": restart_lost}
        limits = {"max_runs": max_runs, "pause_on_failure": pause_on_failure, "after_end": after_end}
        options = JobOptions(timezone=timezone, dialect=dialect, every=every, at=at, **policy, **retry, **limits)  # type: ignore[arg-type]
        call, registered = TaskCall(args, kwargs, labels), find_task(self._setup.tasks, task)
        job = job_of_task(name, registered, schedule, check_options(options), call)
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
        running = self._require_running("reschedule")
        state = await running.run_for_job(name, lambda: running.registrar.get(name))
        zone = state.job.schedule.zone.name if timezone is None else timezone
        options = check_options(JobOptions(timezone=zone, dialect=dialect, every=every, at=at))
        check_schedule(schedule, options, name)
        reading = read_schedule(schedule, name, options)
        new_schedule = with_values(reading.schedule, policy=state.job.schedule.policy)
        source = source_of(reading.text, reading.dialect, new_schedule)
        job = with_values(state.job, schedule=new_schedule, source=source)
        return await self._define(job, expected=state.revision)

    async def _define(self, job: Job, expected: int | None) -> JobInfo:
        running = self._require_running("create")

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
