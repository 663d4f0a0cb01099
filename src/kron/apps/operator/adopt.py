"""Adoption: the runs of the store and the Jobs of the cluster are compared, at the start and after each complete list.

An operator that was killed can have created a Job without recording it, and Jobs can end or vanish while none runs. A
store that was lost learns of the Jobs that are there.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kron.apps.operator.claim_doubt import without_job
from kron.apps.operator.cluster import Cluster
from kron.apps.operator.definition import RUN_LEASE
from kron.apps.operator.events import NORMAL, Tell
from kron.apps.operator.follow import JOB_VANISHED, Follower
from kron.apps.operator.identities import PAGE_SIZE, Identities
from kron.apps.operator.job_record import JobRecord, job_record_of
from kron.apps.operator.kronjob import KronJob
from kron.engine.events import Event
from kron.engine.failpoint import fail_point
from kron.engine.fleet import Share
from kron.engine.registrar import Registrar
from kron.kube.api import Api
from kron.kube.kind import JOB, Place
from kron.kube.names import job_name
from kron.launchers.kronjob import place_of_target
from kron.rules.launch_result import LaunchResult, Report, answered, next_check_after
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import RUNNING, State
from kron.rules.state import ScheduleState
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.timing.key import key_of
from kron.timing.schedule.policy import MILLISECOND

SETTLE_MS = 12_000  # after its claim, no request of a dead operator for this run can be on its way any more
SHARE_EVENT = "pass"  # of the worker, after which its shards can be others
log = logging.getLogger("kron.operator")


class Doubt(NamedTuple):
    """Open run, and where its Job must be."""

    state: ScheduleState
    run: Run
    place: Place


class UnknownJob(NamedTuple):
    """Job whose run the store may not know, and its KronJob."""

    place: Place
    record: JobRecord
    kronjob: KronJob


class Adopter:
    """Comparer of runs and Jobs.

    Args:
        registrar: The store.
        cluster: The Jobs.
        api: Reads a Job that the mirror does not have.
        identities: Identities of the KronJobs.
        tell: Tells events about KronJobs.
        busy: Returns the keys that this operator's worker is launching now.
        settle_ms: Milliseconds after its claim in which a run's Job can still be created by the operator that made the
            claim. With several operators, that one can live: then they include the time until it no longer sends.
    """

    def __init__(
        self,
        registrar: Registrar,
        cluster: Cluster,
        api: Api,
        identities: Identities,
        tell: Tell,
        *,
        busy: Callable[[], Collection[str]] = frozenset,
        settle_ms: int = SETTLE_MS,
    ) -> None:
        self.registrar, self.store, self.cluster, self.api = registrar, registrar.store, cluster, api
        self.identities, self.tell, self.busy, self.settle_ms = identities, tell, busy, settle_ms
        self.follower: Follower | None = None
        self.adopted = 0
        self._wanted = asyncio.Event()
        self._shares: Collection[Share] = ()
        self._again: asyncio.TimerHandle | None = None

    def request(self) -> None:
        """Compare soon."""
        self._wanted.set()

    def receive(self, event: Event) -> None:
        """Compare soon if the worker has other shards now: the claims in them can be those of a dead operator."""
        if event.name == SHARE_EVENT and self.identities.shares is not None:
            before, self._shares = self._shares, self.identities.shares()
            if self._shares != before:
                self.request()

    async def run(self) -> None:
        """Compare whenever it was requested, until canceled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.adopt()
            except Exception as error:
                log.warning("comparing runs with Jobs failed and is tried again: %s", error)
                self._look_again(SETTLE_MS)

    async def adopt(self) -> None:
        """Compare all open runs with their Jobs, and all Jobs with the runs of the store."""
        await self._enter_unknown_jobs()
        async for place, state in self.identities.states(self.store):
            for run in state.open_runs:
                job_at = Place(place.namespace, job_name(place.name, run.key))
                await self._settle(Doubt(state, run, job_at))

    async def _settle(self, doubt: Doubt) -> None:
        run, record = doubt.run, self.cluster.job(doubt.place)
        if run.key in self.busy() or (record is not None and record.mark.key != run.key):
            return
        if run.state in RUNNING:
            await self._settle_running(doubt, record)
        elif run.state in (State.LAUNCHING, State.RETRY):
            await self._settle_claim(doubt, record)

    async def _settle_running(self, doubt: Doubt, record: JobRecord | None) -> None:
        """Report the end of a Job that ended unseen, or that it is gone."""
        run, record = doubt.run, record or await self._read(doubt)
        if record is None:
            await self.registrar.reports.write(run.key, Report.LOST, excerpt=JOB_VANISHED)
        elif record.end is None:
            if run.lease is not None and run.lease - await self.store.now() < RUN_LEASE // MILLISECOND // 2:
                await self.registrar.reports.write(run.key, Report.STARTED)
        elif self.follower is not None:
            await self.follower.report_end(record)

    async def _settle_claim(self, doubt: Doubt, record: JobRecord | None) -> None:
        """Record whether the Job of a claim was created. Its worker died before it could.

        The operator that has the shard looks for the Job by its name once no request for it can be on its way. A Job
        that is not there then was not created, unless it can have been deleted. A claim that changes meanwhile is left
        alone: the update is fenced.
        """
        run, now = doubt.run, await self.store.now()
        if record is None and run.state is State.LAUNCHING:
            if not self._may_release(run):
                return
            if now - run.sent < self.settle_ms:
                self._look_again(self.settle_ms - (now - run.sent))
                return
            record = await self._read(doubt)
        elif record is None:
            return  # it is launched again, under the same name
        policy = doubt.state.job_of(run).schedule.policy
        if record is None:
            after = without_job(run, self.cluster.kronjob(place_of_target(doubt.state.job.target)), policy, now)
        else:
            after = answered(run, LaunchResult.OK, policy, now)
        update = RunUpdate(run, after, next_check_after(after, doubt.state.policy, now))
        fail_point("K17" if record is not None else "")
        (is_written,) = await self.store.update_runs([update], now)
        if is_written and record is not None:
            self.adopted += 1
            if record.end is not None and self.follower is not None:
                await self.follower.report_end(record)

    def _may_release(self, run: Run) -> bool:
        """Return whether this operator has the shard of a run. At the start, no operator that is known has it."""
        return self.identities.is_mine(run.identity) or (self.identities.shares is not None and not self._shares)

    async def _read(self, doubt: Doubt) -> JobRecord | None:
        """Return a Job as the database of the API server has it, if it is that of the run."""
        body = await self.api.get(JOB, doubt.place)
        record = None if body is None else job_record_of(body)
        return record if record is not None and record.mark.key == doubt.run.key else None

    def _look_again(self, milliseconds: int) -> None:
        """Compare again after some time, or earlier if that is wanted already."""
        loop = asyncio.get_running_loop()
        at = loop.time() + milliseconds / 1000 + 0.1
        if self._again is not None and loop.time() <= self._again.when() <= at:
            return
        if self._again is not None:
            self._again.cancel()
        self._again = loop.call_at(at, self.request)

    async def _enter_unknown_jobs(self) -> None:
        """Enter the Jobs that the store does not know: it was lost, and its successor must not run them again."""
        jobs = [
            UnknownJob(place, record, kronjob)
            for place, record in self.cluster.jobs()
            if (kronjob := self._owner_of(place, record))
        ]
        for start in range(0, len(jobs), PAGE_SIZE):
            page = jobs[start : start + PAGE_SIZE]
            runs = await self.store.runs_by_key([job.record.mark.key for job in page])
            unknown = [job for job, run in zip(page, runs, strict=True) if run is None]
            if unknown:
                await self._enter(unknown)

    def _owner_of(self, place: Place, record: JobRecord) -> KronJob | None:
        """Return the KronJob of a Job whose key follows from its identity and period."""
        kronjob = self.cluster.kronjob(Place(place.namespace, record.kronjob))
        if kronjob is None or kronjob.uid != record.mark.owner_uid:
            return None
        identity = self.identities.of(kronjob.place)
        keys = [key_of(identity, nominal, record.trigger) for nominal in (record.nominal, 0)]
        return kronjob if record.mark.key in keys[: 2 if record.trigger else 1] else None

    async def _enter(self, jobs: Sequence[UnknownJob]) -> None:
        """Enter Jobs, except those whose records the store has removed. A commit has one Job per KronJob at most."""
        horizon, rounds, counts = await self.store.horizon(), defaultdict[int, list[UnknownJob]](list), Counter[Place]()
        for job in jobs:
            if job.record.chosen * 1000 >= horizon:
                counts[job.kronjob.place] += 1
                rounds[counts[job.kronjob.place]].append(job)
        for batch in rounds.values():
            await self._enter_together(batch)

    async def _enter_together(self, jobs: Sequence[UnknownJob]) -> None:
        states, now = await self.store.get_with_time([self.identities.of(job.kronjob.place) for job in jobs])
        known = [
            (job, _entered(state, job.record, now))
            for job, state in zip(jobs, states, strict=True)
            if state is not None and not state.deleted
        ]
        fail_point("K17")
        committed = await self.store.commit([update for _, update in known], now)
        for (job, _), is_committed in zip(known, committed, strict=True):
            if is_committed:
                self.adopted += 1
                note = f"Job {job.place.name} was there, and its run was not recorded."
                self.tell(job.kronjob, NORMAL, "Adopted", note)
            else:
                self._look_again(SETTLE_MS)


def _entered(state: ScheduleState, record: JobRecord, now: int) -> ScheduleUpdate:
    """Return the update that enters the run of a Job."""
    run = _run_of(state, record, now)
    check_at = next_check_after(run, state.policy, now) if run.open else now
    wake = check_at if state.next_check_at is None else min(check_at, state.next_check_at)
    return ScheduleUpdate(state, state._replace(next_check_at=wake), (run,))


def _run_of(state: ScheduleState, record: JobRecord, now: int) -> Run:
    """Return the run of a Job that the store does not know."""
    run = Run(
        record.mark.key,
        state.identity,
        record.nominal,
        state.revision,
        record.chosen * 1000,
        State.STARTED,
        trigger=record.trigger,
        outcome=Outcome.EXECUTED,
        attempt=1,
        lease=now + state.policy.run_lease // MILLISECOND,
        created=now,
        changed=now,
        sent=min(now, record.chosen * 1000),
        launched=1,
    )
    if record.end is None:
        return run
    is_success = record.end is Report.SUCCESS
    ended_at = min(now, record.ended_at or now)
    return run._replace(
        state=State.SUCCESS if is_success else State.FAILED,
        reason=None if is_success else Reason.FAILED,
        lease=None,
        changed=ended_at,
    )
