"""History: Jobs beyond the limits of their KronJob are deleted, after their ends are recorded.

A Job also stays until the status of its KronJob tells its period: if the store is lost, one of the two protects the
period from a second run.
"""

from __future__ import annotations

from collections.abc import Sequence

from kron.apps.operator.cluster import Cluster
from kron.apps.operator.identities import Identities
from kron.apps.operator.job_record import JobRecord
from kron.apps.operator.kronjob import KronJob
from kron.apps.operator.work_queue import WorkQueue
from kron.engine.events import Event
from kron.engine.failpoint import fail_point
from kron.engine.store import Store
from kron.kube.api import Api
from kron.kube.failure import Refusal
from kron.kube.kind import JOB, Place
from kron.rules.launch_result import Report

CONFLICT = 409
LIMITS = {Report.SUCCESS: ("successfulJobsHistoryLimit", 3), Report.FAILED: ("failedJobsHistoryLimit", 1)}
INTERVAL_SECONDS = 2.0


class History:
    """Deleter of old Jobs.

    Args:
        api: The API server.
        store: The ledger.
        cluster: The Jobs.
        identities: Identities of the KronJobs.
        interval: Seconds between two looks at the same KronJob.
    """

    def __init__(
        self, api: Api, store: Store, cluster: Cluster, identities: Identities, *, interval: float = INTERVAL_SECONDS
    ) -> None:
        self.api, self.store, self.cluster, self.identities = api, store, cluster, identities
        self.queue = WorkQueue("history", self.trim, interval=interval, parallel=2)

    def receive(self, event: Event) -> None:
        """Look at the KronJob of a run that has ended."""
        if event.name in ("run_finished", "launch_completed"):
            place = self.identities.place(str(event.facts.get("identity", "")))
            if place is not None:
                self.queue.put(place)

    def kronjob_changed(self, before: KronJob | None, after: KronJob | None) -> None:
        """Look at a KronJob whose limits may have changed, or whose status tells more periods."""
        if after is not None and (before is None or _causes(before) != _causes(after)):
            self.queue.put(after.place)

    async def trim(self, place: Place) -> None:
        """Delete the oldest Jobs of a KronJob beyond its limits. A Job whose end is not recorded stays."""
        kronjob = self.cluster.kronjob(place)
        if kronjob is None or kronjob.is_deleting or not self.identities.is_mine(self.identities.of(place)):
            return
        jobs, spec, told = list(self.cluster.jobs_of(kronjob)), kronjob.spec, kronjob.last_period or 0
        for end, (field, default) in LIMITS.items():
            limit = spec.get(field)
            excess = _oldest(jobs, end, default if limit is None else max(0, int(limit)))
            for job_at, record in await self._recorded([job for job in excess if job[1].nominal <= told]):
                await self._delete(job_at, record)

    async def _recorded(self, jobs: Sequence[tuple[Place, JobRecord]]) -> list[tuple[Place, JobRecord]]:
        """Return the Jobs whose ends are recorded, or were and are older than the store's retention."""
        if not jobs:
            return []
        runs, horizon = (
            await self.store.runs_by_key([record.mark.key for _, record in jobs]),
            await self.store.horizon(),
        )
        return [
            job
            for job, run in zip(jobs, runs, strict=True)
            if (not run.open if run else job[1].chosen * 1000 < horizon)
        ]

    async def _delete(self, place: Place, record: JobRecord) -> None:
        fail_point("K15")
        try:
            await self.api.delete(JOB, place, uid=record.uid)
        except Refusal as refusal:
            if refusal.status != CONFLICT:  # another Job has the name now
                raise


def _oldest(jobs: Sequence[tuple[Place, JobRecord]], end: Report, limit: int) -> list[tuple[Place, JobRecord]]:
    ended = sorted(
        (job for job in jobs if job[1].end is end), key=lambda job: (job[1].ended_at or 0, job[1].nominal), reverse=True
    )
    return ended[limit:][::-1]


def _causes(kronjob: KronJob) -> tuple[bytes, bytes]:
    return kronjob.spec_text, kronjob.status_text
