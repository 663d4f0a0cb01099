"""Listener: passes each change of the cluster to the parts of the operator that it concerns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kron.apps.operator.adopt import Adopter
from kron.apps.operator.follow import Follower
from kron.apps.operator.history import History
from kron.apps.operator.job_record import JobRecord
from kron.apps.operator.kronjob import KronJob
from kron.apps.operator.sync import Sync
from kron.kube.kind import Place


class Listener(NamedTuple):
    """Receiver of the changes of the cluster."""

    sync: Sync
    follower: Follower
    history: History
    adopter: Adopter

    def kronjob_changed(self, before: KronJob | None, after: KronJob | None) -> None:
        """Note a change of a KronJob."""
        self.sync.kronjob_changed(before, after)
        self.history.kronjob_changed(before, after)

    def kronjobs_deleted(self, kronjobs: Sequence[KronJob], *, by_list: bool) -> None:
        """Note KronJobs that are gone."""
        self.sync.kronjobs_deleted(kronjobs, by_list=by_list)

    def job_changed(self, place: Place, before: JobRecord | None, after: JobRecord) -> None:
        """Note a change of a Job."""
        self.follower.job_changed(place, before, after)

    def jobs_deleted(self, jobs: Sequence[tuple[Place, JobRecord]], *, by_list: bool) -> None:
        """Note Jobs that are gone."""
        self.follower.jobs_deleted(jobs, by_list=by_list)

    def jobs_listed(self) -> None:
        """Compare the runs with the Jobs after a complete list."""
        self.adopter.request()
