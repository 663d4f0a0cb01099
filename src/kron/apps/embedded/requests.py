"""Requests to a running scheduler: control and inspect jobs, from any event loop."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import uuid4

from kron.apps.embedded.core import SchedulerCore
from kron.apps.embedded.job_info import JobInfo, info_of_job
from kron.apps.embedded.options import check_limit
from kron.apps.embedded.run_info import RunInfo, info_of_run
from kron.apps.embedded.running import ACTOR, stopped_error
from kron.engine.period_report import PeriodReport
from kron.engine.why import why
from kron.timing.labels import labels_of
from kron.timing.zone import instant, moment


class Requests(SchedulerCore):
    """Controls and inspects the jobs of a running scheduler."""

    async def next(self, name: str) -> datetime | None:
        """Return the next run time of a job in its time zone; None if it has no next run.

        You can await this method and the following ones in any event loop.
        """
        running = self._require_running("next")

        async def preview() -> datetime | None:
            upcoming = await running.registrar.preview(name, 1)
            zone = (await running.registrar.get(name)).job.schedule.zone
            return moment(upcoming[0] // 1000).astimezone(zone.rules) if upcoming else None

        return await running.run_for_job(name, preview)

    async def why(self, name: str, at: datetime | None = None) -> PeriodReport:
        """Return the report of a job's last period up to `at`: its outcome and its reason.

        Args:
            name: Name of the job.
            at: Time with a time zone; None for the current time.

        Raises:
            ValueError: `at` has no time zone.
        """
        running = self._require_running("why")

        async def report() -> PeriodReport:
            store = running.registrar.store
            at_ms = await store.now() if at is None else instant(at) * 1000
            return await why(store, name, at_ms, shared=running.shared)

        return await running.run_for_job(name, report)

    async def pause(self, name: str) -> None:
        """Pause a job in every process until it is resumed."""
        running = self._require_running("pause")
        await running.run_for_job(name, lambda: running.registrar.pause(name, ACTOR))

    async def resume(self, name: str) -> None:
        """Resume a job. Periods that passed during the pause are dropped."""
        running = self._require_running("resume")

        async def resume_job() -> None:
            await running.registrar.resume(name, ACTOR)
            running.worker.notify()

        await running.run_for_job(name, resume_job)

    async def trigger(self, name: str) -> str:
        """Run a job now, in addition to its schedule, and return the key of the run."""
        running = self._require_running("trigger")

        async def trigger_job() -> str:
            run = await running.registrar.trigger(name, uuid4().hex)
            running.worker.notify()
            return run.key

        return await running.run_for_job(name, trigger_job)

    async def delete(self, name: str) -> None:
        """Delete a job here and in the store. Its history is kept. A process that declares the job defines it again."""
        running = self._require_running("delete")

        async def delete_job() -> None:
            await running.registrar.delete(name, ACTOR)
            self.declared.pop(name, None)

        await running.run_for_job(name, delete_job)

    async def jobs(
        self, prefix: str = "", *, labels: Mapping[str, str] | None = None, after: str = "", limit: int = 100
    ) -> list[JobInfo]:
        """Return the jobs in the store, in the order of their names, including those of other processes.

        Args:
            prefix: Return only jobs whose names begin with this text.
            labels: Return only jobs that have all of these labels.
            after: Return only jobs after this name: the last name of the previous page.
            limit: Maximum number of jobs, from 1 to 1,000.
        """
        running = self._require_running("jobs")
        check_limit(limit)
        selectors = [f"{key}={value}" for key, value in labels_of({} if labels is None else labels)]

        async def list_jobs() -> list[JobInfo]:
            now = await running.registrar.store.now()
            states = await running.registrar.schedules(prefix, labels=selectors, after=after, limit=limit)
            return [info_of_job(state, now, running.functions.registry.can_run(state.job)) for state in states]

        return await running.run_in_loop(list_jobs)

    async def get(self, name: str) -> JobInfo:
        """Return a job.

        Raises:
            NotFound: The job does not exist.
        """
        running = self._require_running("get")

        async def read_job() -> JobInfo:
            state, now = await running.registrar.get(name), await running.registrar.store.now()
            return info_of_job(state, now, running.functions.registry.can_run(state.job))

        return await running.run_for_job(name, read_job)

    async def runs(self, name: str, *, before: str = "", limit: int = 20) -> list[RunInfo]:
        """Return the runs of a job, newest first. Periods in a gap record have no run: see `why`.

        Args:
            name: Name of the job.
            before: Return only runs before this one: the last key of the previous page.
            limit: Maximum number of runs, from 1 to 1,000.

        Raises:
            NotFound: The job never existed.
        """
        running = self._require_running("runs")
        check_limit(limit)

        async def list_runs() -> list[RunInfo]:
            runs = await running.registrar.runs(name, before=before, limit=limit)
            zone = await running.zone_of(name)
            return [info_of_run(run, zone) for run in runs]

        return await running.run_for_job(name, list_runs)

    async def result(self, key: str, timeout: float | None = None) -> RunInfo:
        """Wait until a run has ended, in any process, and return its record.

        Args:
            key: Key of the run, as `trigger` returns it.
            timeout: Seconds to wait; None for no limit.

        Raises:
            NotFound: No run has this key.
            TimeoutError: The run has not ended in time.
            UsageError: The scheduler was stopped while it waited.
        """
        running = self._require_running("result")

        async def wait_for_end() -> RunInfo:
            run = await running.ends.wait(running.registrar.store, key, timeout)
            if run is None:
                raise stopped_error()
            return info_of_run(run, await running.zone_of(run.identity))

        return await running.run_in_loop(wait_for_end)
