"""Kubernetes: a run becomes a Job after the template of a CronJob. Its name comes from its key: there is one at most.

`kubernetes:namespace/name` names the CronJob. It is suspended: it keeps the template, and Kron decides when.
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

from kron.core.answer import Answer, Report
from kron.core.policy import SECOND
from kron.core.run import Run
from kron.core.zone import rfc3339
from kron.launcher import Launch, Tell

KEY, PERIOD = "kron/key", "kron/period"  # annotations of a Job
BEAT = 5.0  # seconds between two looks at a Job
_LONGEST = 52  # of the name of a CronJob, as Kubernetes has it
_NEVER = frozenset({404, 422})  # there is no such CronJob, or its template cannot be


class Place(NamedTuple):
    """Where a Job is."""

    namespace: str
    name: str


class KubernetesLauncher:
    """Makes Jobs, follows those that it has made, and says how they ended."""

    def __init__(self, client: AsyncClient, tell: Tell, *, beat: float = BEAT) -> None:
        self.client, self.tell, self.beat = client, tell, beat
        self.places: dict[str, Place] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def start(self, launch: Launch) -> Answer:
        """See whether the period has its Job, and make it if not."""
        space, _, name = launch.job.target.partition(":")[2].partition("/")
        try:
            owner = await self.client.get(CronJob, name, namespace=space)
        except ApiError as error:
            return Answer.REJECTED if error.status.code in _NEVER else Answer.RETRYABLE
        except HTTPError:
            return Answer.RETRYABLE
        if owner.spec is None or not owner.spec.suspend:
            return Answer.REJECTED  # Kubernetes would run it, too
        place, wanted = job_of(owner, launch.run)
        answer = await self._found(place, wanted) or await self._made(place, wanted)
        if answer is Answer.OK:
            self._follow(launch, place)
        return answer

    async def cancel(self, run: Run) -> None:
        """Delete the Job and its pods, if it was made from here."""
        place = self.places.get(run.key)
        if place:
            await self.client.delete(Job, place.name, namespace=place.namespace, cascade=CascadeType.FOREGROUND)

    async def _found(self, place: Place, wanted: Job) -> Answer | None:
        """What the Job of that name means: ok if it is ours, and of this period. None if there is none."""
        try:
            found = await self.client.get(Job, place.name, namespace=place.namespace)
        except ApiError as error:
            return None if error.status.code == 404 else Answer.UNKNOWN
        except HTTPError:
            return Answer.UNKNOWN
        return Answer.OK if mark_of(found) == mark_of(wanted) else Answer.REJECTED

    async def _made(self, place: Place, wanted: Job) -> Answer:
        """Make it. If that fails, only a look can tell whether it is there: it may have been made, now or before."""
        try:
            await self.client.create(wanted)
        except ApiError as error:
            if error.status.code in _NEVER:
                return Answer.REJECTED
        except HTTPError:
            pass  # it may have arrived
        else:
            return Answer.OK
        return await self._found(place, wanted) or Answer.RETRYABLE

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
        """Look at it until it has ended; in between, say often enough that it lives."""
        rest = often = launch.job.schedule.policy.run_lease / SECOND / 3
        while (ended := await self._ended(place)) is None:
            await asyncio.sleep(self.beat)
            rest -= self.beat
            if rest <= 0:
                await self.tell(launch.run.key, Report.STARTED)
                rest = often
        await self.tell(launch.run.key, ended)

    async def _ended(self, place: Place) -> Report | None:
        """How a Job has ended; None if it has not, or nobody can tell now. One that was deleted has not succeeded."""
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
    """The Job of a run, and where it is to be: the template of its CronJob, which owns it, and the period."""
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
    """Whose it is, and of which period."""
    about = job.metadata or ObjectMeta()
    noted = about.annotations or {}
    return frozenset(o.uid for o in about.ownerReferences or ()), noted.get(KEY, ""), noted.get(PERIOD, "")
