"""Blocking requests to a running scheduler, including those that create jobs of tasks: `s.sync`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from kron.apps.embedded.blocking_requests import BlockingRequests
from kron.apps.embedded.job_info import JobInfo
from kron.apps.embedded.known_options import with_known_options
from kron.apps.embedded.options import AfterEndName, CatchupName, Duration, OverlapName
from kron.apps.embedded.requests import Requests
from kron.apps.embedded.task_jobs import TaskJobs
from kron.language.dialect import DialectName


class BlockingJobs(BlockingRequests):
    """All methods of a scheduler that need an answer, for plain functions: `s.sync.create(...)`."""

    def __init__(self, requests: Requests, jobs: TaskJobs) -> None:
        super().__init__(requests)
        self._jobs = jobs

    @with_known_options
    def create(
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
        """Create a job of a task. Options as in `Scheduler.create`."""
        schedule_options = {"every": every, "at": at, "dialect": dialect, "timezone": timezone, "dst": dst}
        call = {"args": args, "kwargs": kwargs, "labels": labels, "replace": replace}
        policy = {"overlap": overlap, "overlap_limit": overlap_limit, "catchup": catchup, "deadline": deadline}
        policy |= {"timeout": timeout, "restart_lost": restart_lost}
        retry = {"retry_delay": retry_delay, "retry_attempts": retry_attempts, "retry_factor": retry_factor}
        retry |= {"retry_max_delay": retry_max_delay, "retry_jitter": retry_jitter}
        limits = {"max_runs": max_runs, "pause_on_failure": pause_on_failure, "after_end": after_end}
        options: dict[str, Any] = {**schedule_options, **call, **policy, **retry, **limits}
        return self._wait(self._jobs.create(name, task, schedule, **options))

    @with_known_options
    def reschedule(
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
        """Give a job another schedule. Its task, arguments, labels and policy stay."""
        options: dict[str, Any] = {"every": every, "at": at, "dialect": dialect, "timezone": timezone, "dst": dst}
        return self._wait(self._jobs.reschedule(name, schedule, **options))
