"""Kubernetes launcher: a run becomes a Job from the template of a CronJob.

The Job's name is derived from the run's key, so that a run has at most one Job. `kubernetes:namespace/name` names the
CronJob. The CronJob must be suspended: it holds the template, and Kron decides when a Job starts.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from httpx2 import HTTPError
from lightkube import ApiError, AsyncClient
from lightkube.models.batch_v1 import JobTemplateSpec
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference
from lightkube.resources.batch_v1 import CronJob, Job
from lightkube.types import CascadeType

from kron.engine.launcher import Launch, Tell
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.run import Run
from kron.timing.schedule.policy import SECOND
from kron.timing.zone import rfc3339

KEY, PERIOD = "kron/key", "kron/period"  # annotations of a Job
BEAT = 5.0  # seconds between two checks of a Job
_LONGEST = 52  # maximum length of a CronJob name in Kubernetes
_NEVER = frozenset({404, 422})  # unknown CronJob, or invalid template: no retry helps


class Place(NamedTuple):
    """Namespace and name of a Job."""

    namespace: str
    name: str


class KubernetesLauncher:
    """Launcher of Kubernetes Jobs: creates Jobs, follows them, and reports how they ended."""

    def __init__(self, client: AsyncClient, tell: Tell, *, beat: float = BEAT) -> None:
        self.client, self.tell, self.beat = client, tell, beat
        self.places: dict[str, Place] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def start(self, launch: Launch) -> LaunchResult:
        """Create the Job of the run unless it exists. A CronJob that is not suspended is rejected."""
        space, _, name = launch.job.target.partition(":")[2].partition("/")
        try:
            owner = await self.client.get(CronJob, name, namespace=space)
        except ApiError as error:
            return LaunchResult.REJECTED if error.status.code in _NEVER else LaunchResult.RETRYABLE
        except HTTPError:
            return LaunchResult.RETRYABLE
        if owner.spec is None or not owner.spec.suspend:
            return LaunchResult.REJECTED  # Kubernetes would run the CronJob as well
        place, wanted = job_of(owner, launch.run)
        answer = await self._found(place, wanted) or await self._made(place, wanted)
        if answer is LaunchResult.OK:
            self._follow(launch, place)
        return answer

    async def cancel(self, run: Run) -> None:
        """Delete the Job and its pods, if this launcher follows it."""
        place = self.places.get(run.key)
        if place:
            await self.client.delete(Job, place.name, namespace=place.namespace, cascade=CascadeType.FOREGROUND)

    async def _found(self, place: Place, wanted: Job) -> LaunchResult | None:
        """Return OK if the Job of that name belongs to this run, else REJECTED; None if it does not exist.

        UNKNOWN if the API server cannot tell.
        """
        try:
            found = await self.client.get(Job, place.name, namespace=place.namespace)
        except ApiError as error:
            return None if error.status.code == 404 else LaunchResult.UNKNOWN
        except HTTPError:
            return LaunchResult.UNKNOWN
        return LaunchResult.OK if mark_of(found) == mark_of(wanted) else LaunchResult.REJECTED

    async def _made(self, place: Place, wanted: Job) -> LaunchResult:
        """Create the Job. After a failure, check whether it exists: this or an earlier request may have created it."""
        try:
            await self.client.create(wanted)
        except ApiError as error:
            if error.status.code in _NEVER:
                return LaunchResult.REJECTED
        except HTTPError:
            pass  # the request may have arrived
        else:
            return LaunchResult.OK
        return await self._found(place, wanted) or LaunchResult.RETRYABLE

    def _follow(self, launch: Launch, place: Place) -> None:
        key = launch.run.key
        if key in self.places:
            return
        self.places[key] = place
        task = asyncio.create_task(self._watch(launch, place))
        self.tasks.add(task)

        def done(_: asyncio.Task[None]) -> None:
            self.tasks.discard(task)
            self.places.pop(key, None)

        task.add_done_callback(done)

    async def _watch(self, launch: Launch, place: Place) -> None:
        """Poll the Job until it has ended, and renew the run lease meanwhile (3 times per lease)."""
        rest = often = launch.job.schedule.policy.run_lease / SECOND / 3
        while (ended := await self._ended(place)) is None:
            await asyncio.sleep(self.beat)
            rest -= self.beat
            if rest <= 0:
                await self.tell(launch.run.key, Report.STARTED)
                rest = often
        await self.tell(launch.run.key, ended)

    async def _ended(self, place: Place) -> Report | None:
        """Return how a Job ended; None if it runs or its state is unknown. A deleted Job counts as failed."""
        try:
            job = await self.client.get(Job, place.name, namespace=place.namespace)
        except ApiError as error:
            return Report.FAILED if error.status.code == 404 else None
        except HTTPError:
            return None
        said = (job.status.conditions if job.status else None) or []
        holding = {condition.type for condition in said if condition.status == "True"}
        return Report.SUCCESS if "Complete" in holding else Report.FAILED if "Failed" in holding else None


def job_of(owner: CronJob, run: Run) -> tuple[Place, Job]:
    """Return the Job of a run and its place. The CronJob gives the template and owns the Job."""
    template, own = owner.spec.jobTemplate if owner.spec else JobTemplateSpec(), owner.metadata or ObjectMeta()
    meta = template.metadata or ObjectMeta()
    place = Place(own.namespace or "default", f"{(own.name or '')[:_LONGEST]}-{run.key[:10]}")
    about = ObjectMeta(
        name=place.name,
        namespace=place.namespace,
        labels=meta.labels,
        annotations={**(meta.annotations or {}), KEY: run.key, PERIOD: rfc3339(run.nominal)},
        ownerReferences=[OwnerReference("batch/v1", "CronJob", own.name or "", own.uid or "", controller=True)],
    )
    return place, Job(metadata=about, spec=template.spec)


def mark_of(job: Job) -> tuple[frozenset[str], str, str]:
    """Return what identifies the run of a Job: its owners, its key and its period."""
    about = job.metadata or ObjectMeta()
    noted = about.annotations or {}
    return frozenset(o.uid for o in about.ownerReferences or ()), noted.get(KEY, ""), noted.get(PERIOD, "")
