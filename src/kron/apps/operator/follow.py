"""Follower: what happens to Jobs becomes reports on their runs. It keeps no task and no request per Job."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from kron.apps.operator.cluster import Cluster
from kron.apps.operator.definition import RUN_LEASE
from kron.apps.operator.job_record import JobRecord, belongs_to_run
from kron.engine.failpoint import fail_point
from kron.engine.report_writer import ReportWriter
from kron.errors import NotFound
from kron.kube.kind import Place
from kron.rules.launch_result import Report
from kron.timing.schedule.policy import SECOND

BEAT_SECONDS = RUN_LEASE / SECOND / 3  # between two signs of life of a Job that runs
MAX_RETRY_SECONDS = 86_400.0  # for which recording an end is retried: longer than any lease
JOB_DELETED = "job_deleted: the Job was deleted before it ended"
JOB_VANISHED = "the Job is gone, and no watch has told how it ended"
log = logging.getLogger("kron.operator")


class Follower:
    """Teller of what happens to Jobs.

    Args:
        cluster: The Jobs.
        reports: Writes the reports.
        unknown: Called with the place of a Job whose run the store does not have.
    """

    def __init__(self, cluster: Cluster, reports: ReportWriter, unknown: Callable[[], None]) -> None:
        self.cluster, self.reports, self.unknown = cluster, reports, unknown
        self._tasks: set[asyncio.Task[None]] = set()

    def job_changed(self, place: Place, before: JobRecord | None, after: JobRecord) -> None:
        """Report a Job that has started or ended."""
        if not belongs_to_run(place, after):
            return
        if after.end is not None and (before is None or before.end is None):
            self._start(self.report_end(after))
        elif before is None:
            self._start(self._beat([after.mark.key]))

    def jobs_deleted(self, jobs: Sequence[tuple[Place, JobRecord]], *, by_list: bool) -> None:
        """Report Jobs that were deleted before they ended. Those that a list misses may have ended unseen."""
        for place, record in jobs:
            if belongs_to_run(place, record) and record.end is None:
                report, cause = (Report.LOST, JOB_VANISHED) if by_list else (Report.FAILED, JOB_DELETED)
                self._start(self._report(record.mark.key, report, cause))

    async def report_end(self, record: JobRecord) -> None:
        """Record how a Job has ended."""
        if record.end is not None:
            fail_point("K14")
            await self._report(record.mark.key, record.end, record.cause, record.ended_at)

    async def run(self) -> None:
        """Record signs of life of the Jobs that run, until canceled."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await self._beat([record.mark.key for _, record in self.cluster.jobs() if record.end is None])

    async def drain(self, seconds: float) -> None:
        """Wait until all reports are recorded, up to some seconds."""
        self.reports.stop_retrying(seconds)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _beat(self, keys: Sequence[str]) -> None:
        """Record that runs go on. A failure is not retried: the next sign of life follows."""
        results = await asyncio.gather(
            *(self.reports.write(key, Report.STARTED) for key in keys), return_exceptions=True
        )
        for error in results:
            if isinstance(error, NotFound):
                self.unknown()
            elif isinstance(error, Exception):
                log.warning("a sign of life was not recorded: %s", error)

    async def _report(self, key: str, report: Report, cause: str = "", ended_at: int | None = None) -> None:
        def log_failure(error: Exception) -> None:
            log.warning("run %s is %s; recording it failed and is retried: %s", key, report, error)

        try:
            await self.reports.write(
                key, report, longest=MAX_RETRY_SECONDS, failed=log_failure, excerpt=cause, ended=ended_at
            )
        except NotFound:
            self.unknown()
        except Exception as error:
            log.error("the end of run %s was not recorded: %s", key, error)
