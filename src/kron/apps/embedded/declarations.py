"""Declarations of jobs: decorators and `add`, with one keyword parameter for each option."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from kron.apps.embedded.core import SchedulerCore
from kron.apps.embedded.declared import Declared, declare
from kron.apps.embedded.job_schedule import check_schedule, cron_options
from kron.apps.embedded.known_options import with_known_options
from kron.apps.embedded.options import (
    CatchupName,
    Duration,
    ExecutorName,
    JobOptions,
    OverlapName,
    check_options,
)
from kron.apps.wiring import POSTGRES
from kron.errors import AlreadyExists, UsageError
from kron.language.dialect import DialectName

F = TypeVar("F", bound=Callable[..., Any])


class Declarations(SchedulerCore):
    """Declares jobs: functions with arguments, a schedule and a policy."""

    @with_known_options
    def job(
        self,
        schedule: str | None = None,
        *,
        every: Duration | None = None,
        at: datetime | Sequence[datetime] | None = None,
        dialect: DialectName | None = None,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
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
        restart_lost: bool | None = None,
        transaction: bool = False,
        executor: ExecutorName | None = None,
    ) -> Callable[[F], F]:
        """Declare a job: `@s.job("daily around 14:00")`, `@s.job(every="10s")` or `@s.job(at=datetime(...))`.

        The text is a sentence, unless `dialect` or the text itself names another dialect: `kron: 0 9 * * MON`. The
        class documents every option.
        """
        retry = (retry_delay, retry_attempts, retry_factor, retry_max_delay, retry_jitter)
        limits = (timeout, max_runs, pause_on_failure)
        policy = (overlap, overlap_limit, catchup, deadline, *retry, *limits, restart_lost, transaction, executor)
        return self._decorator(schedule, JobOptions(timezone, dst, *policy, dialect, every, at), name, args, kwargs)

    @with_known_options
    def cron(
        self,
        schedule: str,
        *,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
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
        restart_lost: bool | None = None,
        transaction: bool = False,
        executor: ExecutorName | None = None,
    ) -> Callable[[F], F]:
        """Declare a job with a cron line: `@s.cron("*/5 * * * *")` or `@s.cron("@daily")`. Options as in `job`."""
        retry = (retry_delay, retry_attempts, retry_factor, retry_max_delay, retry_jitter)
        limits = (timeout, max_runs, pause_on_failure)
        policy = (overlap, overlap_limit, catchup, deadline, *retry, *limits, restart_lost, transaction, executor)
        return self._decorator(schedule, cron_options(schedule, JobOptions(timezone, dst, *policy)), name, args, kwargs)

    @with_known_options
    def kron(
        self,
        schedule: str,
        *,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
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
        restart_lost: bool | None = None,
        transaction: bool = False,
        executor: ExecutorName | None = None,
    ) -> Callable[[F], F]:
        """Declare a job in the `kron` dialect: `@s.kron("0 9 * * MON-FRI @win(after,30m)")`. Options as in `job`."""
        retry = (retry_delay, retry_attempts, retry_factor, retry_max_delay, retry_jitter)
        limits = (timeout, max_runs, pause_on_failure)
        policy = (overlap, overlap_limit, catchup, deadline, *retry, *limits, restart_lost, transaction, executor)
        return self._decorator(schedule, JobOptions(timezone, dst, *policy, "kron"), name, args, kwargs)

    @with_known_options
    def add(
        self,
        function: Callable[..., Any] | str,
        schedule: str | None = None,
        *,
        every: Duration | None = None,
        at: datetime | Sequence[datetime] | None = None,
        dialect: DialectName | None = None,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
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
        restart_lost: bool | None = None,
        transaction: bool = False,
        executor: ExecutorName | None = None,
    ) -> str:
        """Declare a job of a function or of `package.module:function`, and return the name of the job.

        You can call it from any thread. While the scheduler runs, a call from another thread waits until the job is in
        the store. Options as in `job`.
        """
        retry = (retry_delay, retry_attempts, retry_factor, retry_max_delay, retry_jitter)
        limits = (timeout, max_runs, pause_on_failure)
        policy = (overlap, overlap_limit, catchup, deadline, *retry, *limits, restart_lost, transaction, executor)
        options = check_options(JobOptions(timezone, dst, *policy, dialect, every, at))
        return self._declare(declare(function, schedule, options, name, args, kwargs))

    def _decorator(
        self,
        schedule: str | None,
        options: JobOptions,
        name: str | None,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
    ) -> Callable[[F], F]:
        check_schedule(schedule, check_options(options))

        def decorate(function: F) -> F:
            self._declare(declare(function, schedule, options, name, args, kwargs))
            return function

        return decorate

    def _declare(self, declared: Declared) -> str:
        if declared.transaction and self._setup.url.partition(":")[0] not in POSTGRES:
            message = f"job {declared.name!r} has transaction=True, which needs a PostgreSQL store"
            raise UsageError("NO_TRANSACTION", message, hint="use the postgresql:// URL of the job's own tables")
        with self._lock:
            if declared.name in self.declared or declared.name in self._setup.tasks:
                hint = f"use another name, or first `await s.delete({declared.name!r})`"
                raise AlreadyExists("DUPLICATE_JOB", f"job {declared.name!r} already exists", hint=hint)
            self.declared[declared.name] = declared
            running = self._running
        if running:
            running.define(declared)
        return declared.name
