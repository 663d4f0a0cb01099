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
from kron.rules.excerpt import excerpt_of_error
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.timing.schedule.policy import SECOND
from kron.timing.zone import rfc3339

KEY_ANNOTATION, PERIOD_ANNOTATION, PAYLOAD_ANNOTATION = "kron/key", "kron/period", "kron/payload"  # of a Job
POLL_SECONDS = 5.0  # seconds between two checks of a Job
_MAX_NAME_LENGTH = 52  # maximum length of a CronJob name in Kubernetes
_PERMANENT_STATUSES = frozenset({404, 422})  # unknown CronJob, or invalid template: no retry helps


class Place(NamedTuple):
    """Namespace and name of a Job."""

    namespace: str
    name: str


class KubernetesLauncher:
    """Launcher of Kubernetes Jobs: creates Jobs, follows them, and reports how they ended."""

    def __init__(self, client: AsyncClient, tell: Tell, *, beat: float = POLL_SECONDS) -> None:
        self.client, self.tell, self.beat = client, tell, beat
        self.places: dict[str, Place] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        """Create the Job of the run unless it exists. A CronJob that is not suspended is rejected."""
        namespace, _, name = launch.job.target.partition(":")[2].partition("/")
        try:
            owner = await self.client.get(CronJob, name, namespace=namespace)
        except ApiError as error:
            is_permanent = error.status.code in _PERMANENT_STATUSES
            return _api_failure(LaunchResult.REJECTED if is_permanent else LaunchResult.RETRYABLE, error)
        except HTTPError as error:
            return LaunchResponse(LaunchResult.RETRYABLE, excerpt=excerpt_of_error(error))
        if owner.spec is None or not owner.spec.suspend:  # Kubernetes would run the CronJob as well
            return LaunchResponse(LaunchResult.REJECTED, excerpt="the CronJob is not suspended")
        place, job = job_of(owner, launch.run, launch.job.payload)
        result = await self._find_job(place, job) or await self._create_job(place, job)
        if result is LaunchResult.OK:
            self._follow(launch, place)
        return result

    async def cancel(self, run: Run) -> None:
        """Delete the Job and its pods, if this launcher follows it."""
        place = self.places.get(run.key)
        if place:
            await self.client.delete(Job, place.name, namespace=place.namespace, cascade=CascadeType.FOREGROUND)

    async def _find_job(self, place: Place, job: Job) -> LaunchResult | LaunchResponse | None:
        """Return OK if the Job of that name belongs to this run, else REJECTED; None if it does not exist.

        UNKNOWN if the API server cannot tell.
        """
        try:
            existing = await self.client.get(Job, place.name, namespace=place.namespace)
        except ApiError as error:
            return None if error.status.code == 404 else _api_failure(LaunchResult.UNKNOWN, error)
        except HTTPError as error:
            return LaunchResponse(LaunchResult.UNKNOWN, excerpt=excerpt_of_error(error))
        if mark_of(existing) == mark_of(job):
            return LaunchResult.OK
        return LaunchResponse(LaunchResult.REJECTED, excerpt="a Job of that name belongs to another run")

    async def _create_job(self, place: Place, job: Job) -> LaunchResult | LaunchResponse:
        """Create the Job. After a failure, check whether it exists: this or an earlier request may have created it."""
        try:
            await self.client.create(job)
        except ApiError as error:
            if error.status.code in _PERMANENT_STATUSES:
                return _api_failure(LaunchResult.REJECTED, error)
            failure = _api_failure(LaunchResult.RETRYABLE, error)
        except HTTPError as error:  # the request may have arrived
            failure = LaunchResponse(LaunchResult.RETRYABLE, excerpt=excerpt_of_error(error))
        else:
            return LaunchResult.OK
        return await self._find_job(place, job) or failure

    def _follow(self, launch: Launch, place: Place) -> None:
        key = launch.run.key
        if key in self.places:
            return
        self.places[key] = place
        task = asyncio.create_task(self._watch(launch, place))
        self.tasks.add(task)

        def forget(_: asyncio.Task[None]) -> None:
            self.tasks.discard(task)
            self.places.pop(key, None)

        task.add_done_callback(forget)

    async def _watch(self, launch: Launch, place: Place) -> None:
        """Poll the Job until it has ended, and renew the run lease meanwhile (3 times per lease)."""
        seconds_left = renewal_seconds = launch.job.schedule.policy.run_lease / SECOND / 3
        while (end := await self._end(place)) is None:
            await asyncio.sleep(self.beat)
            seconds_left -= self.beat
            if seconds_left <= 0:
                await self.tell(launch.run.key, Report.STARTED)
                seconds_left = renewal_seconds
        report, cause = end
        await self.tell(launch.run.key, report, None, cause)

    async def _end(self, place: Place) -> tuple[Report, str] | None:
        """Return how a Job ended, and why; None if it runs or its state is unknown. A deleted Job counts as failed."""
        try:
            job = await self.client.get(Job, place.name, namespace=place.namespace)
        except ApiError as error:
            return (Report.FAILED, "the Job was deleted") if error.status.code == 404 else None
        except HTTPError:
            return None
        conditions = (job.status.conditions if job.status else None) or []
        causes = {
            each.type: ": ".join(filter(None, (each.reason, each.message)))
            for each in conditions
            if each.status == "True"
        }
        if "Complete" in causes:
            return Report.SUCCESS, ""
        return (Report.FAILED, causes["Failed"]) if "Failed" in causes else None


def _api_failure(result: LaunchResult, error: ApiError) -> LaunchResponse:
    """Return the launch response of a request that the API server refused."""
    return LaunchResponse(result, code=error.status.code, excerpt=error.status.message or "")


def job_of(owner: CronJob, run: Run, payload: str | None = None) -> tuple[Place, Job]:
    """Return the Job of a run and its place. The CronJob gives the template and owns the Job.

    The payload is an annotation, which the downward API can give to a container.
    """
    template, owner_metadata = (
        owner.spec.jobTemplate if owner.spec else JobTemplateSpec(),
        owner.metadata or ObjectMeta(),
    )
    template_metadata = template.metadata or ObjectMeta()
    place = Place(
        owner_metadata.namespace or "default", f"{(owner_metadata.name or '')[:_MAX_NAME_LENGTH]}-{run.key[:10]}"
    )
    metadata = ObjectMeta(
        name=place.name,
        namespace=place.namespace,
        labels=template_metadata.labels,
        annotations={
            **(template_metadata.annotations or {}),
            KEY_ANNOTATION: run.key,
            PERIOD_ANNOTATION: rfc3339(run.nominal),
            **({} if payload is None else {PAYLOAD_ANNOTATION: payload}),
        },
        ownerReferences=[
            OwnerReference("batch/v1", "CronJob", owner_metadata.name or "", owner_metadata.uid or "", controller=True)
        ],
    )
    return place, Job(metadata=metadata, spec=template.spec)


def mark_of(job: Job) -> tuple[frozenset[str], str, str]:
    """Return what identifies the run of a Job: its owners, its key and its period."""
    metadata = job.metadata or ObjectMeta()
    annotations = metadata.annotations or {}
    return (
        frozenset(owner.uid for owner in metadata.ownerReferences or ()),
        annotations.get(KEY_ANNOTATION, ""),
        annotations.get(PERIOD_ANNOTATION, ""),
    )
