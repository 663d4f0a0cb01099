"""Schedule states, built from the rows of a batch: one query per kind of row, never one per schedule."""

from __future__ import annotations

from collections.abc import Sequence

from kron.engine.store import Found, Unreadable
from kron.errors import UnreadableRecord
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.stores.codec import corrupt, read_owed, read_revision, read_run
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.pool import Session
from kron.stores.postgres.rows import Row, borne_by, read_job
from kron.stores.presets import BUILT_IN, Presets
from kron.timing.job import Job

NONE: frozenset[int] = frozenset()
MOST = 200_000  # maximum number of cached definitions


class Jobs:
    """Cache of definitions by identity and digest. Because of the digest, no entry can be out of date.

    Many schedules can share one definition, such as one schedule per customer: the definition is read once for all of
    them. A digest has 64 bits: with 10 million different definitions in a database, the probability that a worker
    confuses any of them with a cached one is 1 in 10 million.
    """

    def __init__(self, presets: Presets = BUILT_IN) -> None:
        self.presets = presets
        self.known: dict[tuple[str, int], Job] = {}
        self.kinds: dict[int, Job] = {}

    async def learn(self, talk: Session, rows: Sequence[Row]) -> None:
        """Read the definitions of those rows that are not in the cache."""
        missing = [row for row in rows if (row[0], row[1]) not in self.known]
        if not missing:
            return
        if len(self.known) + len(missing) > MOST:
            self.known.clear()
            missing = list(rows)
        if len(self.kinds) > MOST:
            self.kinds.clear()
        for name, number, *_ in missing:
            kind = self.kinds.get(number)
            if kind is not None:
                self.known[name, number] = borne_by(name, kind)
        unread = [row[0] for row in missing if row[1] not in self.kinds]
        if unread:
            rows = await talk.rows("definitions", schedules=texts(unread))
            found = [read_job(row, self.presets) for row in rows]
            self.known.update(found)
            self.kinds.update((number, job) for (_, number), job in found)

    def of(self, name: str, number: int) -> Job:
        """Return the definition of a schedule that has that digest."""
        job = self.known.get((name, number))
        if job is None:
            raise corrupt("schedule_state", name, "its digest does not match its definition")
        return job


async def whole(talk: Session, jobs: Jobs, rows: Sequence[Row]) -> list[ScheduleState]:
    """Return the schedule states of those rows of `schedule_state`."""
    await jobs.learn(talk, rows)
    going = [row[0] for row in rows if row[9]]
    runs = await _open(talk, going) if going else {}
    further = [row for row in rows if row[10] > row[3]]
    ahead = await _ahead(talk, further) if further else {}
    cases = []
    for row in rows:
        name, number, revision, cursor, since, paused, deleted, wake, until, _, _, owed = row
        job, opened, beyond = jobs.of(name, number), runs.get(name, ()), ahead.get(name, NONE)
        taken = None if owed is None else _owed(name, owed)
        cases.append(ScheduleState(job, revision, cursor, since, paused, deleted, wake, opened, beyond, until, taken))
    return await _former(talk, jobs.presets, cases) if runs else cases


async def readable(talk: Session, jobs: Jobs, rows: Sequence[Row]) -> list[Found]:
    """Return the schedule states of those rows. Each row that cannot be read becomes an `Unreadable`."""
    try:
        return list(await whole(talk, jobs, rows))
    except UnreadableRecord:
        return [await _one(talk, jobs, row) for row in rows]


async def _one(talk: Session, jobs: Jobs, row: Row) -> ScheduleState | Unreadable:
    try:
        (case,) = await whole(talk, jobs, [row])
    except UnreadableRecord as error:
        return Unreadable(row[0], row[7], error.message)
    return case


async def _former(talk: Session, presets: Presets, cases: Sequence[ScheduleState]) -> list[ScheduleState]:
    """Return the states with the older definitions under which their open runs were recorded."""
    wanted = {
        (case.identity, run.revision) for case in cases for run in case.open_runs if run.revision != case.revision
    }
    if not wanted:
        return list(cases)
    names, revisions = zip(*sorted(wanted), strict=True)
    rows = await talk.rows("revisions_of", schedules=texts(names), revisions=numbers(revisions))
    found: dict[str, dict[int, Job]] = {}
    for revision in (read_revision(row, presets) for row in rows):
        found.setdefault(revision.identity, {})[revision.number] = revision.job
    return [case._replace(former=found[case.identity]) if case.identity in found else case for case in cases]


def _owed(name: str, text: str) -> frozenset[int] | None:
    try:
        return read_owed(text)
    except ValueError as error:
        raise corrupt("schedule_state", name, error) from error


async def _open(talk: Session, names: list[str]) -> dict[str, tuple[Run, ...]]:
    runs: dict[str, tuple[Run, ...]] = {}
    for row in await talk.rows("open_runs", schedules=texts(names)):
        runs[row[1]] = (*runs.get(row[1], ()), read_run(row))
    return runs


async def _ahead(talk: Session, rows: Sequence[Row]) -> dict[str, frozenset[int]]:
    ahead: dict[str, frozenset[int]] = {}
    names, cursors = texts([row[0] for row in rows]), numbers([row[3] for row in rows])
    for name, nominal in await talk.rows("ahead", schedules=names, cursors=cursors):
        ahead[name] = ahead.get(name, frozenset()) | {nominal}
    return ahead
