"""Overview of the schedules in PostgreSQL: every statement reads a key range, an index in its order, or counters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from kron.engine.calendar_index import CalendarIndex
from kron.engine.name_index import NameIndex
from kron.engine.overview import (
    MAX_NEXT,
    DayAnswer,
    OutcomeCount,
    RecentPeriods,
    TimeRange,
    WorkerRecord,
    kinds_of_trouble,
)
from kron.rules.gap_record import GapRecord
from kron.rules.load import Load, LoadHour, load_of
from kron.rules.outcome import Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.stores.codec import read_gap, read_run
from kron.stores.load_codec import read_hour, write_hour
from kron.stores.postgres.activity import PostgresActivity
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.calendar_index import PostgresCalendar, facts_of
from kron.stores.postgres.name_index import PostgresNames
from kron.stores.postgres.pool import Pool, Session
from kron.stores.postgres.rows import key_bytes
from kron.stores.presets import Presets

MAX_SCOPE = 2_000  # schedules of a scope that are sorted; a larger scope is found quickly in the order of all checks
MAX_SCANNED = 50_000  # index entries of each kind that are read in search of a scope
MAX_KINDS = 1_000  # kinds of target that are looked at; each function of an application is one
_EVER = (1 << 62) - 1
_LAST_KEY = b"\xff" * 33  # sorts after all keys


class PostgresOverview(PostgresActivity):
    """Overview of one tenant's schedules."""

    def __init__(self, pool: Pool, presets: Presets) -> None:
        super().__init__(pool, presets)
        self.names: NameIndex | None = PostgresNames(pool)
        self.calendar: CalendarIndex = PostgresCalendar(pool)

    async def outcomes(self, scope: str, first: int, last: int, step: int) -> list[OutcomeCount]:
        """Return how many periods ended in which way, by the time at which they were due."""
        return await self.pool.read(lambda session: _outcomes(session, scope, TimeRange(first, last, step)))

    async def running(self, scope: str, limit: int) -> list[Run]:
        """Return runs that their targets have accepted and that have not ended, the oldest attempt first."""
        rows = await self._rows_of_scope("running", scope, limit=limit)
        return [read_run(row) for row in rows]

    async def troubled_runs(
        self, scope: str, states: Collection[State], limit: int, before: tuple[int, str] | None = None
    ) -> list[Run]:
        """Return ended runs that are in one of those states, latest end first."""
        return await runs_in_trouble(self.pool, scope, scope, kinds_of_trouble(states), limit, before)

    async def troubled_schedules(self, scope: str, state: State, after: str, limit: int) -> list[str]:
        """Return a page of identities of schedules whose last period ended in that state."""
        rows = await self._rows("troubled_schedules", scope=scope, last=state.value, after=after, limit=limit)
        return [identity for (identity,) in rows]

    async def paused(self, scope: str, after: str, limit: int) -> list[str]:
        """Return a page of identities of paused schedules."""
        rows = await self._rows("paused_schedules", scope=scope, after=after, limit=limit)
        return [identity for (identity,) in rows]

    async def next_checks(self, scope: str, limit: int, upto: int | None = None) -> list[str]:
        """Return schedules in the order in which workers check them next."""
        latest, limit = _EVER if upto is None else upto, min(limit, MAX_NEXT)
        bounds = {"limit": limit, "scanned": MAX_SCANNED, "kinds": MAX_KINDS}

        async def work(session: Session) -> list[str]:
            if scope:
                rows = await session.rows("next_checks_of_scope", scope=scope, limit=MAX_SCOPE + 1)
                if len(rows) <= MAX_SCOPE:
                    checks = sorted((wake, identity) for identity, wake in rows if wake is not None and wake <= latest)
                    return [identity for _, identity in checks[:limit]]
            rows = await session.rows("next_checks", scope=scope, upto=latest, **bounds)
            return [identity for (identity,) in rows]

        return await self.pool.read(work)

    async def recent(self, identities: Sequence[str], limit: int) -> dict[str, RecentPeriods]:
        """Return the newest records of each schedule."""

        async def work(session: Session) -> tuple[list[Any], list[Any]]:
            parameters = {"schedules": texts(identities), "limit": limit}
            return await session.rows("recent_runs", **parameters), await session.rows("recent_gaps", **parameters)

        run_rows, gap_rows = await self.pool.read(work)
        runs, gaps = dict[str, list[Run]](), dict[str, list[GapRecord]]()
        for run in map(read_run, run_rows):
            runs.setdefault(run.identity, []).append(run)
        for identity, *row in gap_rows:
            gaps.setdefault(identity, []).append(read_gap(identity, row))
        return {
            identity: RecentPeriods(tuple(runs.get(identity, ())), tuple(gaps.get(identity, ())))
            for identity in identities
        }

    async def latest_runs(
        self, identities: Sequence[str], limit: int, before: tuple[int, str] | None = None
    ) -> list[Run]:
        """Return the newest runs of some schedules together, newest period first."""
        at, key = (before[0], key_bytes(before[1])) if before else (_EVER, _LAST_KEY)
        parameters = {"schedules": texts(dict.fromkeys(identities)), "before": at, "key": key, "limit": limit}
        return [read_run(row) for row in await self._rows("latest_runs", **parameters)]

    async def runs_between(self, identity: str, first: int, last: int, limit: int) -> list[Run]:
        """Return the newest runs of one schedule with nominal times from `first` to `last`."""
        rows = await self._rows("runs_between", schedule=identity, first=first, last=last, limit=limit)
        return [read_run(row) for row in rows]

    async def load(self, scope: str, first: int, last: int, step: int) -> Load:
        """Return how many runs are due."""
        return await self.pool.read(lambda session: _load(session, scope, TimeRange(first, last, step)))

    async def day(self, scope: str, past: TimeRange, coming: TimeRange) -> DayAnswer:
        """Return the outcomes of one range of time, the load of another, and the facts, in one transaction."""

        async def work(session: Session) -> DayAnswer:
            outcomes, load = await _outcomes(session, scope, past), await _load(session, scope, coming)
            return DayAnswer(outcomes, load, await facts_of(session, scope))

        return await self.pool.read(work)

    async def write_load(self, hours: Sequence[LoadHour]) -> None:
        """Write hours, and replace those that exist."""
        if not hours:
            return
        rows = [write_hour(hour) for hour in sorted(hours)]
        columns = {
            "scopes": texts(row["scope"] for row in rows),
            "hours": numbers(row["hour"] for row in rows),
            "counts": texts(row["counts"] for row in rows),
            "kinds": texts(row["kinds"] for row in rows),
            "writtens": numbers(row["written_at"] for row in rows),
        }
        await self.pool.write(lambda session: session.execute("write_load", **columns))

    async def remove_load(self, before: int, limit: int) -> int:
        """Remove hours that were written before that time."""
        return len(await self.pool.write(lambda session: session.rows("remove_load", before=before, limit=limit)))

    async def workers(self) -> list[WorkerRecord]:
        """Return the registered workers."""
        rows = await self._rows("workers")
        return [
            WorkerRecord(owner, joined, renewed, until, frozenset(kinds), tz)
            for owner, joined, renewed, until, kinds, tz in rows
        ]


async def runs_in_trouble(
    pool: Pool, scope: str, prefix: str, kinds: Collection[str], limit: int, before: tuple[int, str] | None
) -> list[Run]:
    """Return runs of those kinds of trouble, of schedules whose identities start with `prefix`."""
    at, key = (before[0], key_bytes(before[1])) if before else (_EVER, _LAST_KEY)
    parameters = {"kinds": texts(sorted(kinds)), "prefix": prefix, "before": at, "key": key, "limit": limit}
    query, place = ("troubled_runs_of_scope", {"scope": scope}) if scope else ("troubled_runs", {})
    return [read_run(row) for row in await pool.read(lambda session: session.rows(query, **place, **parameters))]


async def _outcomes(session: Session, scope: str, past: TimeRange) -> list[OutcomeCount]:
    rows = await session.rows("outcome_counts", scope=scope, **past._asdict())
    return [
        OutcomeCount(start, State(state), Reason(reason) if reason else None, count)
        for start, state, reason, count in rows
    ]


async def _load(session: Session, scope: str, coming: TimeRange) -> Load:
    hours = {"first": coming.first // 3600, "last": -(-coming.last // 3600)}
    rows = await session.rows("load_hours", scope=scope, **hours)
    return load_of([read_hour(scope, row) for row in rows], *coming)
