"""Requests to a running scheduler: control and inspect jobs, from any event loop."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from kron.apps.embedded.core import SchedulerCore
from kron.apps.embedded.running import ACTOR
from kron.engine.why import PeriodReport, why
from kron.timing.zone import instant, moment


class Requests(SchedulerCore):
    """Controls and inspects the jobs of a running scheduler."""

    async def next(self, name: str) -> datetime | None:
        """Return the next run time of a job in its time zone; None if it has no next run.

        You can await this method and the following ones in any event loop.
        """
        running = self._require_running()

        async def preview() -> datetime | None:
            upcoming = await running.registrar.preview(name, 1)
            zone = (await running.registrar.get(name)).job.schedule.zone
            return moment(upcoming[0] // 1000).astimezone(zone.rules) if upcoming else None

        return await running.run_in_loop(preview)

    async def why(self, name: str, at: datetime | None = None) -> PeriodReport:
        """Return the report of a job's last period up to `at`: its outcome and its reason.

        Args:
            name: Name of the job.
            at: Time with a time zone; None for the current time.

        Raises:
            ValueError: `at` has no time zone.
        """
        running = self._require_running()

        async def report() -> PeriodReport:
            store = running.registrar.store
            at_ms = await store.now() if at is None else instant(at) * 1000
            return await why(store, name, at_ms, shared=running.shared)

        return await running.run_in_loop(report)

    async def pause(self, name: str) -> None:
        """Pause a job in every process until it is resumed."""
        running = self._require_running()
        await running.run_in_loop(lambda: running.registrar.pause(name, ACTOR))

    async def resume(self, name: str) -> None:
        """Resume a job. Periods that passed during the pause are dropped."""
        running = self._require_running()

        async def resume_job() -> None:
            await running.registrar.resume(name, ACTOR)
            running.worker.notify()

        await running.run_in_loop(resume_job)

    async def trigger(self, name: str) -> str:
        """Run a job now, in addition to its schedule, and return the key of the run."""
        running = self._require_running()

        async def trigger_job() -> str:
            run = await running.registrar.trigger(name, uuid4().hex)
            running.worker.notify()
            return run.key

        return await running.run_in_loop(trigger_job)

    async def delete(self, name: str) -> None:
        """Delete a job here and in the store. Its history is kept. A process that declares the job defines it again."""
        running = self._require_running()

        async def delete_job() -> None:
            await running.registrar.delete(name, ACTOR)
            self.declared.pop(name, None)

        await running.run_in_loop(delete_job)
