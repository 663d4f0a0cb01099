"""KronJob launcher: a run becomes a Job from the template of its KronJob.

The template comes from a local copy, so a launch is one request. The API server accepts the name of a Job once. This
launcher does not report how Jobs end: the operator watches them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from kron.engine.failpoint import fail_point
from kron.engine.launcher import Launch
from kron.kube.api import Api
from kron.kube.failure import NoAnswer, Refusal
from kron.kube.kind import JOB, Body, Place
from kron.kube.names import Owner, job_of, job_place, mark_of
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.run import Run
from kron.timing.decision import period_key
from kron.timing.job import Job

CANCEL_SECONDS = 8.0  # for which a canceled Job may take to go, before the run that replaces it starts
NOT_SYNCED_RETRY_MS = 1_000  # milliseconds until the next attempt, while the list of KronJobs is not complete
_TERMINATING = "NamespaceTerminating"  # cause of a refusal: no Job can be created in the namespace any more
_REJECTED = frozenset({400, 404, 405, 413, 415, 422})  # statuses of a template or namespace that no retry helps


class Owners(Protocol):
    """The KronJobs of the cluster, as far as they are known."""

    @property
    def is_complete(self) -> bool:
        """Whether all KronJobs have been listed once."""

    def owner(self, place: Place) -> Owner | None:
        """Return a KronJob; None if it does not exist or is being deleted."""


def _ignore(place: Place, job_name: str) -> None:
    """Do nothing."""


async def _gone(place: Place, uid: str) -> None:
    """Return at once."""


class KronJobLauncher:
    """Launcher of the targets `kronjob:NAMESPACE/NAME`.

    Args:
        api: The API server.
        owners: The KronJobs.
        name_taken: Called when another Job has the name that a run needs, with the place of the KronJob.
        gone: Waits until the Job at a place is gone, or is another one than that with the unique identifier.
        cancel_api: The API server for cancellations, if those have another priority.
        cancel_seconds: Maximum time for which a cancellation waits for the end of the Job.
    """

    def __init__(
        self,
        api: Api,
        owners: Owners,
        name_taken: Callable[[Place, str], None] = _ignore,
        *,
        gone: Callable[[Place, str], Awaitable[None]] = _gone,
        cancel_api: Api | None = None,
        cancel_seconds: float = CANCEL_SECONDS,
    ) -> None:
        self.api, self.owners, self.name_taken = api, owners, name_taken
        self.gone, self.cancel_api, self.cancel_seconds = gone, cancel_api or api, cancel_seconds

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        """Create the Job of the run, unless an earlier attempt has created it."""
        place = place_of_target(launch.job.target)
        if not self.owners.is_complete:
            cause = "the KronJobs of the cluster are not known yet"
            return LaunchResponse(LaunchResult.UNSENT, NOT_SYNCED_RETRY_MS, excerpt=cause)
        owner = self.owners.owner(place)
        if owner is None:
            return LaunchResponse(LaunchResult.REJECTED, excerpt="the KronJob does not exist")
        body = job_of(owner, launch.run, seed_hash_of(launch.job, launch.run))
        try:
            await self.api.create(JOB, place.namespace, body)
        except (Refusal, NoAnswer) as failure:
            if isinstance(failure, Refusal) and failure.reason == "AlreadyExists":
                return await self._existing(owner, launch.run, body)
            response = response_of(failure)
            return await self._looked_up(owner, launch.run, body, response)
        fail_point("K13")
        return LaunchResult.OK

    async def cancel(self, run: Run) -> None:
        """Delete the Job of a run, and its pods first. A Job of the same name that is not of this run stays.

        Returns when the Job is gone, or after `cancel_seconds`: the run that replaces it starts in any case.
        """
        place = Place(*run.identity.split("/")[-2:])
        owner = self.owners.owner(place)
        if owner is None:
            return
        job_at = job_place(owner, run)
        job = await self.cancel_api.get(JOB, job_at)
        if job is None or mark_of(job) != mark_of(job_of(owner, run)):
            return
        uid = job["metadata"]["uid"]
        await self.cancel_api.delete(JOB, job_at, uid=uid, propagation="Foreground")
        with suppress(TimeoutError):
            async with asyncio.timeout(self.cancel_seconds):
                await self.gone(job_at, uid)

    async def _looked_up(
        self, owner: Owner, run: Run, body: Body, response: LaunchResponse
    ) -> LaunchResult | LaunchResponse:
        """Return OK if the Job of a request without an answer exists. A Job that is not there may still arrive."""
        if response.result is not LaunchResult.UNKNOWN:
            return response
        try:
            job = await self.api.get(JOB, job_place(owner, run))
        except (Refusal, NoAnswer):
            return response
        return LaunchResult.OK if job is not None and mark_of(job) == mark_of(body) else response

    async def _existing(self, owner: Owner, run: Run, body: Body) -> LaunchResult | LaunchResponse:
        """Return OK if the Job that has the name is that of the run, else REJECTED."""
        try:
            job = await self.api.get(JOB, job_place(owner, run))
        except (Refusal, NoAnswer) as failure:
            return LaunchResponse(LaunchResult.UNKNOWN, excerpt=str(failure))
        if job is None or mark_of(job) == mark_of(body):
            return LaunchResult.OK  # a Job deleted since can have been that of the run: a second one is not created
        self.name_taken(owner.place, job["metadata"]["name"])
        return LaunchResponse(LaunchResult.REJECTED, excerpt="a Job of that name is not of this run")


def place_of_target(target: str) -> Place:
    """Return the place of the KronJob that a target names."""
    namespace, _, name = target.partition(":")[2].partition("/")
    return Place(namespace, name)


def seed_hash_of(job: Job, run: Run) -> str:
    """Return the seed hash of a run's period, with which its chosen time can be verified; empty for a manual run."""
    return "" if run.trigger else job.schedule.seed.hash(job.identity, period_key(job.schedule, run.nominal))


def response_of(failure: Refusal | NoAnswer) -> LaunchResponse:
    """Return the response to a request that failed.

    A quota (403) can have room later. A namespace that is being deleted will not.
    """
    if isinstance(failure, NoAnswer):
        result = LaunchResult.UNKNOWN if failure.may_have_arrived else LaunchResult.RETRYABLE
        return LaunchResponse(result, excerpt=str(failure))
    is_final = failure.status in _REJECTED or _TERMINATING in failure.causes
    result = LaunchResult.UNKNOWN if failure.may_have_arrived else LaunchResult.RETRYABLE
    delay_ms = 0 if is_final else round(failure.retry_after * 1000)
    return LaunchResponse(
        LaunchResult.REJECTED if is_final else result, delay_ms, code=failure.status, excerpt=failure.message
    )
