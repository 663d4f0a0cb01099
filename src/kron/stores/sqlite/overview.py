"""Overview of the schedules in an SQLite file."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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
from kron.rules.load import Load, LoadHour, load_of
from kron.rules.outcome import Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.stores.codec import read_gap, read_run
from kron.stores.load_codec import read_hour, write_hour
from kron.stores.presets import Presets
from kron.stores.sqlite.activity import SqliteActivity, prefix_range
from kron.stores.sqlite.calendar_index import SqliteCalendar
from kron.stores.sqlite.file import File
from kron.stores.sqlite.fleet import read_workers

_EVER = (1 << 62) - 1
_LAST_KEY = "g"  # sorts after all keys, which are hexadecimal


class SqliteOverview(SqliteActivity):
    """Overview of the schedules in one file."""

    def __init__(self, file: File, presets: Presets) -> None:
        super().__init__(file, presets)
        self.names: NameIndex | None = None
        self.calendar: CalendarIndex = SqliteCalendar(file)

    async def outcomes(self, scope: str, first: int, last: int, step: int) -> list[OutcomeCount]:
        """Return how many periods ended in which way, by the time at which they were due."""
        rows = await self._read("outcome_counts", scope=scope, first=first, last=last, step=step)
        return [
            OutcomeCount(start, State(state), Reason(reason) if reason else None, count)
            for start, state, reason, count in rows
        ]

    async def running(self, scope: str, limit: int) -> list[Run]:
        """Return runs that their targets have accepted and that have not ended, the oldest attempt first."""
        return [read_run(row) for row in await self._read("running", **prefix_range(scope), limit=limit)]

    async def troubled_runs(
        self, scope: str, states: Collection[State], limit: int, before: tuple[int, str] | None = None
    ) -> list[Run]:
        """Return ended runs that are in one of those states, latest end first."""
        return await runs_in_trouble(self.file, scope, scope, kinds_of_trouble(states), limit, before)

    async def troubled_schedules(self, scope: str, state: State, after: str, limit: int) -> list[str]:
        """Return a page of identities of schedules whose last period ended in that state."""
        rows = await self._read("troubled_schedules", **prefix_range(scope), last=state.value, after=after, limit=limit)
        return [identity for (identity,) in rows]

    async def paused(self, scope: str, after: str, limit: int) -> list[str]:
        """Return a page of identities of paused schedules."""
        rows = await self._read("paused_schedules", **prefix_range(scope), after=after, limit=limit)
        return [identity for (identity,) in rows]

    async def next_checks(self, scope: str, limit: int, upto: int | None = None) -> list[str]:
        """Return schedules in the order in which workers check them next."""
        latest = _EVER if upto is None else upto
        rows = await self._read("next_checks", **prefix_range(scope), upto=latest, limit=min(limit, MAX_NEXT))
        return [identity for (identity,) in rows]

    async def recent(self, identities: Sequence[str], limit: int) -> dict[str, RecentPeriods]:
        """Return the newest records of each schedule."""

        def records(identity: str) -> RecentPeriods:
            runs = self.rows("recent_runs", schedule_id=identity, limit=limit)
            gaps = self.rows("recent_gaps", schedule_id=identity, limit=limit)
            return RecentPeriods(tuple(map(read_run, runs)), tuple(read_gap(identity, row) for row in gaps))

        return await self.file.read(lambda: {identity: records(identity) for identity in identities})

    async def latest_runs(
        self, identities: Sequence[str], limit: int, before: tuple[int, str] | None = None
    ) -> list[Run]:
        """Return the newest runs of some schedules together, newest period first."""
        at, key = before or (_EVER, _LAST_KEY)
        parameters = {"before": at, "key": key, "limit": limit}

        def work() -> list[Run]:
            names = dict.fromkeys(identities)
            return [read_run(row) for name in names for row in self.rows("latest_runs", schedule_id=name, **parameters)]

        runs = await self.file.read(work)
        return sorted(runs, key=lambda run: (run.nominal, run.key), reverse=True)[:limit]

    async def runs_between(self, identity: str, first: int, last: int, limit: int) -> list[Run]:
        """Return the newest runs of one schedule with nominal times from `first` to `last`."""
        rows = await self._read("runs_between", schedule_id=identity, first=first, last=last, limit=limit)
        return [read_run(row) for row in rows]

    async def load(self, scope: str, first: int, last: int, step: int) -> Load:
        """Return how many runs are due."""
        rows = await self._read("load_hours", scope=scope, first=first // 3600, last=-(-last // 3600))
        return load_of([read_hour(scope, row) for row in rows], first, last, step)

    async def day(self, scope: str, past: TimeRange, coming: TimeRange) -> DayAnswer:
        """Return the outcomes of one range of time, the load of another, and the calendar facts."""
        outcomes, load = await self.outcomes(scope, *past), await self.load(scope, *coming)
        return DayAnswer(outcomes, load, await self.calendar.read(scope))

    async def write_load(self, hours: Sequence[LoadHour]) -> None:
        """Write hours, and replace those that exist."""

        def work() -> None:
            for hour in hours:
                self.rows("write_load", **write_hour(hour))

        if hours:
            await self.file.write(work)

    async def remove_load(self, before: int, limit: int) -> int:
        """Remove hours that were written before that time."""
        return len(await self.file.write(lambda: self.rows("remove_load", before=before, limit=limit)))

    async def workers(self) -> list[WorkerRecord]:
        """Return the registered workers."""
        lives = await self.file.read(lambda: read_workers(self.rows))
        return [WorkerRecord(owner, *life) for owner, life in lives.items()]


async def runs_in_trouble(
    file: File, scope: str, prefix: str, kinds: Collection[str], limit: int, before: tuple[int, str] | None
) -> list[Run]:
    """Return runs of those kinds of trouble, of schedules whose identities start with `prefix`."""
    query, (at, key) = "troubled_runs_of_scope" if scope else "troubled_runs", before or (_EVER, _LAST_KEY)
    parameters = {"scope": scope, "before": at, "key": key, "limit": limit, **prefix_range(prefix)}

    def work() -> list[Run]:
        return [read_run(row) for kind in sorted(kinds) for row in file.rows(query, kind=kind, **parameters)]

    runs = await file.read(work)
    return sorted(runs, key=lambda run: (run.changed, run.key), reverse=True)[:limit]
