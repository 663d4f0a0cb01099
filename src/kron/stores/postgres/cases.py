"""Cases, put together from the rows of a batch: a question for each kind of row, never one for each case."""

from __future__ import annotations

from collections.abc import Sequence

from kron.core.case import Case
from kron.core.job import Job
from kron.core.run import Run
from kron.errors import KronError
from kron.store import Found, Unreadable
from kron.stores.codec import corrupt, read_owed, read_revision, read_run
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.pool import Talk
from kron.stores.postgres.rows import Row, borne_by, read_job
from kron.stores.presets import BUILT_IN, Presets

NONE: frozenset[int] = frozenset()
MOST = 200_000  # definitions that are remembered


class Jobs:
    """Definitions that were read before, by name and digest, so that none can be out of date.

    Many schedules may be of one kind, such as one for each customer: what was read of one of them is known of all. A
    digest has 64 bits: with ten million kinds in a database, the odds that a worker takes any of them for another that
    it remembers are one in ten million.
    """

    def __init__(self, presets: Presets = BUILT_IN) -> None:
        self.presets = presets
        self.known: dict[tuple[str, int], Job] = {}
        self.kinds: dict[int, Job] = {}

    async def learn(self, talk: Talk, rows: Sequence[Row]) -> None:
        """Read the definitions of those rows that are not known yet."""
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
        """The definition of a schedule that has that digest."""
        job = self.known.get((name, number))
        if job is None:
            raise corrupt("due", name, "its definition is another")
        return job


async def whole(talk: Talk, jobs: Jobs, rows: Sequence[Row]) -> list[Case]:
    """The cases of those rows of `due`."""
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
        cases.append(Case(job, revision, cursor, since, paused, deleted, wake, opened, beyond, until, taken))
    return await _former(talk, jobs.presets, cases) if runs else cases


async def readable(talk: Talk, jobs: Jobs, rows: Sequence[Row]) -> list[Found]:
    """The cases of those rows; where one cannot be read, it alone is told apart."""
    try:
        return list(await whole(talk, jobs, rows))
    except KronError as error:
        if error.code != "CORRUPT_ROW":
            raise
    return [await _one(talk, jobs, row) for row in rows]


async def _one(talk: Talk, jobs: Jobs, row: Row) -> Case | Unreadable:
    try:
        (case,) = await whole(talk, jobs, [row])
    except KronError as error:
        return Unreadable(row[0], row[7], error.message)
    return case


async def _former(talk: Talk, presets: Presets, cases: Sequence[Case]) -> list[Case]:
    """The cases, with the older definitions under which their open runs were recorded."""
    wanted = {(case.identity, run.revision) for case in cases for run in case.open if run.revision != case.revision}
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
        raise corrupt("due", name, error) from error


async def _open(talk: Talk, names: list[str]) -> dict[str, tuple[Run, ...]]:
    runs: dict[str, tuple[Run, ...]] = {}
    for row in await talk.rows("open_runs", schedules=texts(names)):
        runs[row[1]] = (*runs.get(row[1], ()), read_run(row))
    return runs


async def _ahead(talk: Talk, rows: Sequence[Row]) -> dict[str, frozenset[int]]:
    ahead: dict[str, frozenset[int]] = {}
    names, cursors = texts([row[0] for row in rows]), numbers([row[3] for row in rows])
    for name, nominal in await talk.rows("ahead", schedules=names, cursors=cursors):
        ahead[name] = ahead.get(name, frozenset()) | {nominal}
    return ahead
