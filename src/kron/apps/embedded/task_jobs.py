"""Jobs of tasks: created, replaced and rescheduled at run time. Each is a row in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as with_values
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from kron.apps.embedded.job_info import JobInfo, info_of_job
from kron.apps.embedded.job_schedule import check_schedule, read_schedule
from kron.apps.embedded.known_options import with_known_options
from kron.apps.embedded.moments import check_not_past, rescheduled_policy
from kron.apps.embedded.options import (
    AfterEndName,
    CatchupName,
    Duration,
    JobOptions,
    OverlapName,
    check_options,
)
from kron.apps.embedded.running import ACTOR
from kron.apps.embedded.task import TaskCall, find_task, job_of_task
from kron.apps.embedded.task_registration import TaskRegistration
from kron.errors import AlreadyExists, RevisionConflict
from kron.language.dialect import DialectName
from kron.language.door import CALL
from kron.language.source import source_of
from kron.rules.update import ScheduleUpdate
from kron.timing.job import Job


class TaskJobs(TaskRegistration):
    """Creates jobs of tasks while the scheduler runs.

    Arguments are stored as JSON, and checked against the signature. `jobs` lists by `labels`. Listed moments have the
    default `overlap="queue"`, so that none is skipped. `create` and `reschedule` raise an error with the code `PAST` if
    all moments have passed; a job that has the same schedule already is accepted.
    """

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
        dst: str | None = None,
        overlap: OverlapName | None = None,
        overlap_limit: int | None = None,
        catchup: CatchupName | None = None,
        deadline: Duration | None = None,
        retry_delay: Duration | None = None,
        retry_attempts: int | None = None,
        retry_factor: int | None = None,
        retry_max_delay: Duration | None = None,
        retry_jitter: int | None = None,
        timeout: Duration | None = None,
        max_runs: int | None = None,
        pause_on_failure: int | None = None,
        after_end: AfterEndName | None = None,
        restart_lost: bool | None = None,
        replace: bool = False,
    ) -> JobInfo:
        """Create a job of a task: `await s.create("reminder-42", send_reminder, at=when, kwargs={"user": 42})`.

        Options as in `job`. `executor` belongs to the function (`@s.task`). Only a declared job has a `transaction`.
        """
        retry = (retry_delay, retry_attempts, retry_factor, retry_max_delay, retry_jitter)
        policy = (overlap, overlap_limit, catchup, deadline, *retry, timeout, max_runs, pause_on_failure, restart_lost)
        options = JobOptions(timezone, dst, *policy, dialect=dialect, every=every, at=at, after_end=after_end)
        call, registered = TaskCall(args, kwargs, labels), find_task(self._setup.tasks, task)
        job = job_of_task(name, registered, schedule, check_options(options), call)
        return await self._define(job, None if replace else 0, "")

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
        dst: str | None = None,
    ) -> JobInfo:
        """Give a job another schedule. Its task, arguments, labels and policy stay.

        Between moments and a schedule that recurs, a default `overlap` becomes the other default: `queue` or `skip`.

        Raises:
            NotFound: The job does not exist.
            RevisionConflict: The job was changed concurrently.
            InvalidInput: All moments of the new schedule have passed (`PAST`).
        """
        running = self._require_running("reschedule")
        state = await running.run_for_job(name, lambda: running.registrar.get(name))
        zone = state.job.schedule.zone.name if timezone is None else timezone
        options = check_options(JobOptions(timezone=zone, dst=dst, dialect=dialect, every=every, at=at))
        check_schedule(schedule, options, name)
        reading = read_schedule(schedule, name, options, CALL)
        new_schedule = with_values(reading.schedule, policy=rescheduled_policy(state.job.schedule, reading.schedule))
        source = source_of(reading.text, reading.dialect, new_schedule)
        job = with_values(state.job, schedule=new_schedule, source=source)
        return await self._define(job, state.revision, f"run the job now with await s.trigger({name!r})")

    async def _define(self, job: Job, expected: int | None, alternative: str) -> JobInfo:
        """Define a job. `alternative` is what the caller can do instead if all its moments have passed."""
        running = self._require_running("create")

        def check(update: ScheduleUpdate, now: int) -> None:
            check_not_past(update, now, alternative)

        async def define() -> JobInfo:
            try:
                state = await running.registrar.upsert(job, ACTOR, expected=expected, check=check)
            except RevisionConflict:
                if expected != 0:
                    raise
                hint = "use another name, or replace=True"
                raise AlreadyExists("DUPLICATE_JOB", f"job {job.name!r} already exists", hint=hint) from None
            running.worker.notify()
            return info_of_job(state, await running.registrar.store.now(), running.functions.registry.can_run(job))

        return await running.run_in_loop(define)
