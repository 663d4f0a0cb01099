"""Cluster: the KronJobs and their Jobs, as the mirrors of all watched namespaces have them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from kron.apps.operator.job_record import JobRecord, belongs_to_run, job_record_of
from kron.apps.operator.kronjob import KronJob, kronjob_of
from kron.kube.api import Api
from kron.kube.kind import JOB, KRONJOB, Place
from kron.kube.mirror import Entry, Mirror
from kron.kube.names import KRONJOB_LABEL, Owner


class ClusterListener(Protocol):
    """Receiver of changes. `by_list` tells that a deletion was found by a list, and no watch has told how it was."""

    def kronjob_changed(self, before: KronJob | None, after: KronJob | None) -> None:
        """Note a change of a KronJob."""

    def kronjobs_deleted(self, kronjobs: Sequence[KronJob], *, by_list: bool) -> None:
        """Note KronJobs that are gone."""

    def job_changed(self, place: Place, before: JobRecord | None, after: JobRecord) -> None:
        """Note a change of a Job."""

    def jobs_deleted(self, jobs: Sequence[tuple[Place, JobRecord]], *, by_list: bool) -> None:
        """Note Jobs that are gone."""

    def jobs_listed(self) -> None:
        """Note that a list of Jobs was complete."""


class Cluster:
    """Mirrors of the KronJobs and Jobs of some namespaces; none: of all namespaces."""

    def __init__(self, api: Api, namespaces: Sequence[str] = ()) -> None:
        self.listener: ClusterListener | None = None  # told of every change from now on
        self.kronjob_mirrors: dict[str, Mirror[KronJob]] = {}
        self.job_mirrors: dict[str, Mirror[JobRecord]] = {}
        self._jobs_by_kronjob: dict[Place, set[Place]] = defaultdict(set)
        self._gone_kronjobs: list[KronJob] = []
        self._gone_jobs: list[tuple[Place, JobRecord]] = []
        self._waiting: dict[Place, list[tuple[str, asyncio.Event]]] = {}
        for namespace in namespaces or ("",):
            self.kronjob_mirrors[namespace] = Mirror(
                api,
                KRONJOB,
                kronjob_of,
                self._kronjob_changed,
                namespace=namespace,
                listed=lambda: self._tell_deleted_kronjobs(by_list=True),
            )
            self.job_mirrors[namespace] = Mirror(
                api,
                JOB,
                job_record_of,
                self._job_changed,
                namespace=namespace,
                selector=KRONJOB_LABEL,
                listed=self._jobs_listed,
            )

    @property
    def mirrors(self) -> list[Mirror[KronJob] | Mirror[JobRecord]]:
        """All mirrors."""
        return [*self.kronjob_mirrors.values(), *self.job_mirrors.values()]

    @property
    def is_complete(self) -> bool:
        """Whether all KronJobs have been listed once."""
        return all(mirror.synced.is_set() for mirror in self.kronjob_mirrors.values())

    def owner(self, place: Place) -> Owner | None:
        """Return a KronJob as the owner of Jobs; None if it does not exist, has no template or is being deleted."""
        kronjob = self.kronjob(place)
        return None if kronjob is None or kronjob.is_deleting else kronjob.owner

    def kronjob(self, place: Place) -> KronJob | None:
        """Return a KronJob; None if it does not exist."""
        mirror = self.kronjob_mirrors.get("") or self.kronjob_mirrors.get(place.namespace)
        entry = mirror.entries.get(place) if mirror else None
        return entry.value if entry else None

    def kronjobs(self) -> Iterator[KronJob]:
        """Yield all KronJobs."""
        for mirror in self.kronjob_mirrors.values():
            for entry in list(mirror.entries.values()):
                yield entry.value

    def job(self, place: Place) -> JobRecord | None:
        """Return a Job; None if the mirror does not have it."""
        mirror = self.job_mirrors.get("") or self.job_mirrors.get(place.namespace)
        entry = mirror.entries.get(place) if mirror else None
        return entry.value if entry else None

    def jobs(self) -> Iterator[tuple[Place, JobRecord]]:
        """Yield the Jobs that belong to runs."""
        for mirror in self.job_mirrors.values():
            for place, entry in list(mirror.entries.items()):
                if belongs_to_run(place, entry.value):
                    yield place, entry.value

    def jobs_of(self, kronjob: KronJob) -> Iterator[tuple[Place, JobRecord]]:
        """Yield the Jobs that belong to runs of a KronJob. Jobs of an earlier KronJob of its name are left out."""
        for place in list(self._jobs_by_kronjob.get(kronjob.place, ())):
            record = self.job(place)
            if record and record.mark.owner_uid == kronjob.uid and belongs_to_run(place, record):
                yield place, record

    async def gone(self, place: Place, uid: str) -> None:
        """Wait until the Job at a place is gone, or is another one than that with the unique identifier."""
        record = self.job(place)
        if record is None or record.uid != uid:
            return
        entry = (uid, asyncio.Event())
        self._waiting.setdefault(place, []).append(entry)
        try:
            await entry[1].wait()
        finally:
            entries = self._waiting.get(place, [])
            entries.remove(entry)
            if not entries:
                self._waiting.pop(place, None)

    def _kronjob_changed(self, place: Place, before: Entry[KronJob] | None, after: Entry[KronJob] | None) -> None:
        if after is not None:
            if self.listener is not None:
                self.listener.kronjob_changed(before.value if before else None, after.value)
        elif before is not None:
            self._gone_kronjobs.append(before.value)
            _soon(lambda: self._tell_deleted_kronjobs(by_list=False))

    def _tell_deleted_kronjobs(self, *, by_list: bool) -> None:
        """Tell the deletions. Those of a list are told together, before anything else happens."""
        kronjobs, self._gone_kronjobs = self._gone_kronjobs, []
        if kronjobs and self.listener is not None:
            self.listener.kronjobs_deleted(kronjobs, by_list=by_list)

    def _job_changed(self, place: Place, before: Entry[JobRecord] | None, after: Entry[JobRecord] | None) -> None:
        if after is not None:
            self._jobs_by_kronjob[_kronjob_place(place, after.value)].add(place)
            if self.listener is not None:
                self.listener.job_changed(place, before.value if before else None, after.value)
        elif before is not None:
            self._forget(place, before.value)
            self._gone_jobs.append((place, before.value))
            _soon(lambda: self._tell_deleted_jobs(by_list=False))

    def _forget(self, place: Place, record: JobRecord) -> None:
        kronjob = _kronjob_place(place, record)
        self._jobs_by_kronjob[kronjob].discard(place)
        if not self._jobs_by_kronjob[kronjob]:
            del self._jobs_by_kronjob[kronjob]
        for uid, event in self._waiting.get(place, ()):
            if uid == record.uid:
                event.set()

    def _tell_deleted_jobs(self, *, by_list: bool) -> None:
        jobs, self._gone_jobs = self._gone_jobs, []
        if jobs and self.listener is not None:
            self.listener.jobs_deleted(jobs, by_list=by_list)

    def _jobs_listed(self) -> None:
        self._tell_deleted_jobs(by_list=True)
        if self.listener is not None:
            self.listener.jobs_listed()


def watch_count(namespaces: Sequence[str]) -> int:
    """Return the number of watches that the mirrors of some namespaces have open."""
    return 2 * max(1, len(namespaces))


def _kronjob_place(place: Place, record: JobRecord) -> Place:
    return Place(place.namespace, record.kronjob)


def _soon(work: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(work)
