"""Stuck Jobs: those that run far longer than those before them, or that have no ready pod for hours. None is killed."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from statistics import median

from kron.apps.operator.cluster import Cluster
from kron.apps.operator.events import WARNING, Tell
from kron.apps.operator.identities import Identities
from kron.apps.operator.job_record import JobRecord
from kron.engine.store import Store
from kron.kube.kind import Place
from kron.language.duration import write_duration
from kron.rules.run_state import State
from kron.timing.schedule.policy import MILLISECOND, SECOND

REASON = "JobStuck"
FACTOR = 3  # times the median of the last runs
MIN_RUNS, MAX_RUNS = 3, 20  # of which the median is taken
MIN_MS = 300_000  # a Job that is younger is never stuck: the length of short Jobs varies
INTERVAL_SECONDS = 30.0


class StuckJobs:
    """Finder of stuck Jobs.

    Args:
        cluster: The Jobs.
        store: The ledger, with the lengths of the last runs.
        identities: Identities of the KronJobs.
        tell: Tells events about KronJobs.
        changed: Called with a KronJob that has a stuck Job, or has none any more.
        after: Milliseconds after which a Job without a ready pod is stuck; 0: never.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        identities: Identities,
        tell: Tell,
        changed: Callable[[Place], None],
        after: int,
    ) -> None:
        self.cluster, self.store, self.identities = cluster, store, identities
        self.tell, self.changed, self.after = tell, changed, after
        self._found: dict[Place, str] = {}

    def message(self, place: Place) -> str:
        """Return what is known of a stuck Job of a KronJob; empty if it has none."""
        return self._found.get(place, "")

    async def run(self) -> None:
        """Look for stuck Jobs until canceled."""
        while True:
            await self.look()
            await asyncio.sleep(INTERVAL_SECONDS)

    async def look(self) -> None:
        """Look for stuck Jobs once."""
        now, found = await self.store.now(), dict[Place, str]()
        for place, jobs in self._old_jobs(now).items():
            text = await self._problem(place, jobs, now)
            if text:
                found[place] = text
        before, self._found = self._found, found
        for place in {*before, *found}:
            if (place in before) != (place in found):
                self.changed(place)
        for place in found.keys() - before.keys():
            kronjob = self.cluster.kronjob(place)
            if kronjob is not None:
                self.tell(kronjob, WARNING, REASON, found[place])

    def _old_jobs(self, now: int) -> dict[Place, list[tuple[Place, JobRecord]]]:
        """Return the Jobs that are old enough, by KronJob: those for which this operator is responsible."""
        found = defaultdict(list)
        for job_at, record in self.cluster.jobs():
            is_old = record.end is None and record.started_at is not None and now - record.started_at > MIN_MS
            place = Place(job_at.namespace, record.kronjob)
            if is_old and self.identities.is_mine(self.identities.of(place)):
                found[place].append((job_at, record))
        return found

    async def _problem(self, place: Place, jobs: Iterable[tuple[Place, JobRecord]], now: int) -> str:
        """Return what is wrong with the oldest Job that is stuck; empty if none is."""
        usual = await self._usual_ms(place)
        for job_at, record in sorted(jobs, key=lambda job: job[1].started_at or 0):
            age = now - (record.started_at or now)
            if usual is not None and age > FACTOR * usual:
                return f"Job {job_at.name} is active for {_text(age)}. The median of the last runs is {_text(usual)}."
            if self.after and age > self.after and not record.is_ready:
                return f"Job {job_at.name} is active for {_text(age)} and has no ready pod."
        return ""

    async def _usual_ms(self, place: Place) -> int | None:
        """Return the median length of the last successful runs; None if there are too few."""
        runs = await self.store.runs(self.identities.of(place), MAX_RUNS)
        lengths = [run.changed - run.sent for run in runs if run.state is State.SUCCESS and run.sent]
        return round(median(lengths)) if len(lengths) >= MIN_RUNS else None


def _text(milliseconds: int) -> str:
    """Return a length of time, in seconds as far as it is below 10 minutes, else in minutes."""
    unit = SECOND if milliseconds < 600_000 else 60 * SECOND
    return write_duration(round(milliseconds * MILLISECOND / unit) * unit)
