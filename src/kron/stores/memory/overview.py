"""Overview of the schedules in memory. It goes through all records: the store is for tests and small programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from kron.engine.calendar_index import CalendarIndex
from kron.engine.name_index import NameIndex
from kron.engine.overview import (
    MAX_NEXT,
    TROUBLE,
    DayAnswer,
    OutcomeCount,
    RecentPeriods,
    TimeRange,
    WorkerRecord,
)
from kron.rules.load import Load, LoadHour, load_of
from kron.rules.outcome import Reason
from kron.rules.run import Run
from kron.rules.run_state import RUNNING, State
from kron.rules.tally import end_of, end_of_gap, tally
from kron.stores.memory.activity import MemoryActivity
from kron.stores.memory.calendar_index import MemoryCalendar
from kron.stores.memory.tables import Tables
from kron.stores.register import Register


class MemoryOverview(MemoryActivity):
    """Overview of the schedules in some tables."""

    def __init__(self, tables: Tables, register: Register) -> None:
        super().__init__(tables)
        self.register = register
        self.names: NameIndex | None = None
        self.calendar: CalendarIndex = MemoryCalendar()

    async def outcomes(self, scope: str, first: int, last: int, step: int) -> list[OutcomeCount]:
        """Return how many periods ended in which way, by the time at which they were due."""
        ends = [end_of(run) for run in self._runs(scope) if not run.open]
        ends += [
            end_of_gap(name, gap)
            for name, gaps in self.tables.dropped.items()
            if name.startswith(scope)
            for gap in gaps
        ]
        counters = Counter[tuple[int, State, str]]()
        for key, count in tally(ends).items():
            start = (key.minute * 60 - first) // step * step + first
            if key.scope == scope and first <= key.minute * 60 < last:
                counters[start, key.state, key.reason] += count
        return [
            OutcomeCount(start, state, Reason(reason) if reason else None, count)
            for (start, state, reason), count in sorted(counters.items())
        ]

    async def running(self, scope: str, limit: int) -> list[Run]:
        """Return runs that their targets have accepted and that have not ended, the oldest attempt first."""
        runs = [run for run in self._runs(scope) if run.state in RUNNING]
        return sorted(runs, key=lambda run: (run.sent, run.key))[:limit]

    async def troubled_runs(
        self, scope: str, states: Collection[State], limit: int, before: tuple[int, str] | None = None
    ) -> list[Run]:
        """Return ended runs that are in one of those states, latest end first."""
        runs = [run for run in self._runs(scope) if run.state in states and run.state in TROUBLE]
        later = [run for run in runs if before is None or (run.changed, run.key) < before]
        return sorted(later, key=lambda run: (run.changed, run.key), reverse=True)[:limit]

    async def troubled_schedules(self, scope: str, state: State, after: str, limit: int) -> list[str]:
        """Return a page of identities of schedules whose last period ended in that state."""
        lasts = self.tables.last_states
        return [name for name in self._names(scope, after) if lasts.get(name) is state][:limit]

    async def paused(self, scope: str, after: str, limit: int) -> list[str]:
        """Return a page of identities of paused schedules."""
        return [name for name in self._names(scope, after) if self.tables.cases[name].paused][:limit]

    async def next_checks(self, scope: str, limit: int, upto: int | None = None) -> list[str]:
        """Return schedules in the order in which workers check them next."""
        states = [state for name, state in self.tables.cases.items() if name.startswith(scope)]
        checks = sorted((state.next_check_at, state.identity) for state in states if state.next_check_at is not None)
        due = [identity for at, identity in checks if upto is None or at <= upto]
        return due[: min(limit, MAX_NEXT)]

    async def recent(self, identities: Sequence[str], limit: int) -> dict[str, RecentPeriods]:
        """Return the newest records of each schedule."""

        def records(identity: str) -> RecentPeriods:
            runs = [run for run in self.tables.ledger.get(identity, {}).values() if not run.trigger]
            runs.sort(key=lambda run: run.nominal, reverse=True)
            gaps = sorted(self.tables.dropped.get(identity, []), key=lambda gap: gap.first, reverse=True)
            return RecentPeriods(tuple(runs[:limit]), tuple(gaps[:limit]))

        return {identity: records(identity) for identity in identities}

    async def latest_runs(
        self, identities: Sequence[str], limit: int, before: tuple[int, str] | None = None
    ) -> list[Run]:
        """Return the newest runs of some schedules together, newest period first."""
        runs = [run for identity in dict.fromkeys(identities) for run in self.tables.ledger.get(identity, {}).values()]
        later = [run for run in runs if before is None or (run.nominal, run.key) < before]
        return sorted(later, key=lambda run: (run.nominal, run.key), reverse=True)[:limit]

    async def runs_between(self, identity: str, first: int, last: int, limit: int) -> list[Run]:
        """Return the newest runs of one schedule with nominal times from `first` to `last`."""
        runs = [run for run in self.tables.ledger.get(identity, {}).values() if first <= run.nominal <= last]
        return sorted(runs, key=lambda run: (run.nominal, run.trigger, run.key), reverse=True)[:limit]

    async def load(self, scope: str, first: int, last: int, step: int) -> Load:
        """Return how many runs are due."""
        hours = range(first // 3600, -(-last // 3600))
        found = [self.tables.load[scope, hour] for hour in hours if (scope, hour) in self.tables.load]
        return load_of(found, first, last, step)

    async def day(self, scope: str, past: TimeRange, coming: TimeRange) -> DayAnswer:
        """Return the outcomes of one range of time, the load of another, and the calendar facts."""
        outcomes, load = await self.outcomes(scope, *past), await self.load(scope, *coming)
        return DayAnswer(outcomes, load, await self.calendar.read(scope))

    async def write_load(self, hours: Sequence[LoadHour]) -> None:
        """Write hours, and replace those that exist."""
        self.tables.load.update({(hour.scope, hour.hour): hour for hour in hours})

    async def remove_load(self, before: int, limit: int) -> int:
        """Remove hours that were written before that time."""
        keys = sorted(key for key, hour in self.tables.load.items() if hour.written < before)[:limit]
        for key in keys:
            del self.tables.load[key]
        return len(keys)

    async def workers(self) -> list[WorkerRecord]:
        """Return the registered workers."""
        return [WorkerRecord(owner, *life) for owner, life in sorted(self.register.lives.items())]

    def _runs(self, scope: str) -> Iterator[Run]:
        ledgers = [runs for name, runs in self.tables.ledger.items() if name.startswith(scope)]
        return (run for runs in ledgers for run in runs.values())

    def _names(self, scope: str, after: str) -> list[str]:
        """Return the identities of a scope after one, in order, without deleted schedules."""
        cases = self.tables.cases
        return sorted(name for name in cases if name.startswith(scope) and name > after and not cases[name].deleted)
