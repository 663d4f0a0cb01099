"""Schedule states, built from the rows of a batch: one query per kind of row, never one per schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kron.engine.fleet import kind_of
from kron.engine.store import Found, Unreadable
from kron.errors import UnreadableRecord
from kron.rules.downtime import ALWAYS, Downtime
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.stores.codec import corrupt, read_owed, read_revision, read_run
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.pool import Session
from kron.stores.postgres.rows import Row, read_job, with_identity
from kron.stores.presets import BUILT_IN, Presets
from kron.timing.job import Job

NO_PERIODS: frozenset[int] = frozenset()
NO_DOWNTIMES: Mapping[str, Downtime] = MappingProxyType({})
MAX_CACHED_JOBS = 200_000  # maximum number of cached definitions


class Jobs:
    """Cache of definitions by identity and digest. Because of the digest, no entry can be out of date.

    Many schedules can share one definition, such as one schedule per customer: the definition is read once for all of
    them. A digest has 64 bits: with 10 million different definitions in a database, the probability that a worker
    confuses any of them with a cached one is 1 in 10 million.
    """

    def __init__(self, presets: Presets = BUILT_IN) -> None:
        self.presets = presets
        self.by_schedule: dict[tuple[str, int], Job] = {}
        self.by_digest: dict[int, Job] = {}

    async def learn(self, session: Session, rows: Sequence[Row]) -> None:
        """Read the definitions of those rows that are not in the cache."""
        missing = [row for row in rows if (row[0], row[1]) not in self.by_schedule]
        if not missing:
            return
        if len(self.by_schedule) + len(missing) > MAX_CACHED_JOBS:
            self.by_schedule.clear()
            missing = list(rows)
        if len(self.by_digest) > MAX_CACHED_JOBS:
            self.by_digest.clear()
        for name, number, *_ in missing:
            job = self.by_digest.get(number)
            if job is not None:
                self.by_schedule[name, number] = with_identity(name, job)
        unread = [row[0] for row in missing if row[1] not in self.by_digest]
        if unread:
            rows = await session.rows("definitions", schedules=texts(unread))
            jobs = [read_job(row, self.presets) for row in rows]
            self.by_schedule.update(jobs)
            self.by_digest.update((number, job) for (_, number), job in jobs)

    def of(self, name: str, number: int) -> Job:
        """Return the definition of a schedule that has that digest."""
        job = self.by_schedule.get((name, number))
        if job is None:
            raise corrupt("schedule_state", name, "its digest does not match its definition")
        return job


async def read_states(
    session: Session, jobs: Jobs, rows: Sequence[Row], downtimes: Mapping[str, Downtime] = NO_DOWNTIMES
) -> list[ScheduleState]:
    """Return the schedule states of those rows of `schedule_state`, with the last downtimes of their target kinds."""
    await jobs.learn(session, rows)
    active_names = [row[0] for row in rows if row[9]]
    runs = await _open_runs(session, active_names) if active_names else {}
    rows_ahead = [row for row in rows if row[10] > row[3]]
    ahead = await _handled_ahead(session, rows_ahead) if rows_ahead else {}
    states = []
    for row in rows:
        name, number, revision, cursor, since, paused, deleted, wake, until, _, _, owed, run_count, failure_count = row
        job, open_runs, handled_ahead = jobs.of(name, number), runs.get(name, ()), ahead.get(name, NO_PERIODS)
        owed_periods = None if owed is None else _read_owed(name, owed)
        downtime = downtimes.get(kind_of(job.target), ALWAYS) if downtimes else ALWAYS
        state = ScheduleState(
            job, revision, cursor, since, paused, deleted, wake, open_runs, handled_ahead, until, owed_periods, downtime
        )
        if run_count or failure_count:
            state = state._replace(run_count=run_count, failure_count=failure_count)
        states.append(state)
    return await _with_former_jobs(session, jobs.presets, states) if runs else states


async def read_states_or_unreadable(session: Session, jobs: Jobs, rows: Sequence[Row]) -> list[Found]:
    """Return the schedule states of those rows. Each row that cannot be read becomes an `Unreadable`."""
    try:
        return list(await read_states(session, jobs, rows))
    except UnreadableRecord:
        return [await _read_one(session, jobs, row) for row in rows]


async def _read_one(session: Session, jobs: Jobs, row: Row) -> ScheduleState | Unreadable:
    try:
        (state,) = await read_states(session, jobs, [row])
    except UnreadableRecord as error:
        return Unreadable(row[0], row[7], error.message)
    return state


async def _with_former_jobs(session: Session, presets: Presets, states: Sequence[ScheduleState]) -> list[ScheduleState]:
    """Return the states with the older definitions under which their open runs were recorded."""
    references = {
        (state.identity, run.revision) for state in states for run in state.open_runs if run.revision != state.revision
    }
    if not references:
        return list(states)
    names, revisions = zip(*sorted(references), strict=True)
    rows = await session.rows("revisions_of", schedules=texts(names), revisions=numbers(revisions))
    former_jobs: dict[str, dict[int, Job]] = {}
    for revision in (read_revision(row, presets) for row in rows):
        former_jobs.setdefault(revision.identity, {})[revision.number] = revision.job
    return [
        state._replace(former=former_jobs[state.identity]) if state.identity in former_jobs else state
        for state in states
    ]


def _read_owed(name: str, text: str) -> frozenset[int] | None:
    try:
        return read_owed(text)
    except ValueError as error:
        raise corrupt("schedule_state", name, error) from error


async def _open_runs(session: Session, names: list[str]) -> dict[str, tuple[Run, ...]]:
    runs: dict[str, tuple[Run, ...]] = {}
    for row in await session.rows("open_runs", schedules=texts(names)):
        runs[row[1]] = (*runs.get(row[1], ()), read_run(row))
    return runs


async def _handled_ahead(session: Session, rows: Sequence[Row]) -> dict[str, frozenset[int]]:
    ahead: dict[str, frozenset[int]] = {}
    names, cursors = texts([row[0] for row in rows]), numbers([row[3] for row in rows])
    for name, nominal in await session.rows("ahead", schedules=names, cursors=cursors):
        ahead[name] = ahead.get(name, frozenset()) | {nominal}
    return ahead
