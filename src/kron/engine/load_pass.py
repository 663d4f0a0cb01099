"""Load pass: a worker counts the runs of the coming 8 days, schedule by schedule, in the time that passes leave.

It also collects what the calendar shows: local hours by zone, and the coming runs of schedules that run rarely.

One worker of the fleet goes through the names in order. It works for a few milliseconds, then sleeps for longer. So a
pass of the worker waits for one slice at most. The counters of a scope are written when its last name was read, and
those of all schedules at the end.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import AbstractAsyncContextManager, suppress

from kron.engine.background import in_background
from kron.engine.clock import Timer
from kron.engine.events import Event, Sink, silent
from kron.engine.store import Store
from kron.errors import KronError
from kron.language.canonical import canonical
from kron.rules.calendar_facts import CalendarTable, fixed_hours, rare_runs
from kron.rules.load import LoadHour, LoadTable, is_shared, upcoming_minutes
from kron.rules.scope import ALL, scope_of
from kron.rules.state import ScheduleState
from kron.rules.upcoming import inactive_reason

INTERVAL_SECONDS = 600.0  # between two rounds
MAX_FIRST_DELAY_SECONDS = 60.0  # maximum time until the first round
PAGE_SIZE = 50  # schedules in one read
SLICE_SECONDS = 0.002  # work without a break
MIN_BREAK_SECONDS = 0.018  # after each slice and each read
BREAK_FACTOR = 9  # how much longer a break is than the work before it: a tenth of the time, also of the store's
MAX_BREAK_SECONDS = 1.0
MAX_TEXT_LENGTH = 200  # characters of a schedule text that are kept
HOURS_PER_WRITE = 24
REMOVED_PER_CALL = 1_000  # hours


class LoadPass:
    """Background pass that keeps the load of the coming 8 days. A failure is reported as an event, and never raised."""

    def __init__(self, store: Store, timer: Timer, owner: str, sink: Sink = silent) -> None:
        self.store, self.timer, self.owner, self.sink = store, timer, owner, sink
        self.slice_start = 0.0

    async def run(self) -> None:
        """Count again and again until canceled."""
        await self.timer.sleep(random.uniform(MAX_FIRST_DELAY_SECONDS / 10, MAX_FIRST_DELAY_SECONDS))  # noqa: S311
        while True:
            await self.once()
            await self.timer.sleep(random.uniform(0.9, 1.1) * INTERVAL_SECONDS)  # noqa: S311

    async def once(self) -> int:
        """Count once, if no older worker does it. Returns how many schedules were read."""
        try:
            return await self._round() if await self._is_chosen() else 0
        except Exception as error:
            with suppress(Exception):  # a sink cannot stop the pass
                self.sink(Event("load_failed", 0, {"error": repr(error)}))
            return 0

    async def _is_chosen(self) -> bool:
        """Return whether this worker has been alive for longest. Two that count at once write the same."""
        now = await self.store.now()
        living = [worker for worker in await self.store.overview.workers() if worker.until > now]
        return not living or min(living, key=lambda worker: (worker.joined, worker.owner)).owner == self.owner

    async def _round(self) -> int:
        now, after, count = await self.store.now(), "", 0
        counting = _Round(now)
        self.slice_start = self.timer.monotonic()
        while page := await self.store.identities(after, PAGE_SIZE):
            after, count = page[-1], count + len(page)
            for state in await self._states(page):
                if counting.scope != scope_of(state.identity):
                    await self._finish_scope(counting)
                    counting.begin_scope(scope_of(state.identity))
                await self._add(counting, state)
            await self._rest()
        await self._finish_scope(counting)
        await self._write(counting.total, ALL, now)
        calendar = self.store.overview.calendar
        await calendar.write(ALL, counting.whole_calendar.facts(now))
        while await self.store.overview.remove_load(now, REMOVED_PER_CALL) == REMOVED_PER_CALL:
            await self._rest()
        while await calendar.remove(now, REMOVED_PER_CALL) == REMOVED_PER_CALL:
            await self._rest()
        return count

    async def _states(self, page: list[str]) -> list[ScheduleState]:
        """Return the schedules of a page, without those that cannot be read here."""
        try:
            return [state for state in await self.store.get(page) if state]
        except KronError:
            states = list[ScheduleState]()
            for name in page:
                with suppress(KronError):
                    states += [state for state in await self.store.get([name]) if state]
            return states

    async def _add(self, counting: _Round, state: ScheduleState) -> None:
        kind = canonical(state.job.schedule).text[:MAX_TEXT_LENGTH]
        if is_shared(state):
            counting.examples.setdefault(kind, state)
            counting.shared[kind] += 1
        else:
            await self._count(counting, state, kind, 1)
        if not inactive_reason(state):
            counting.add_to_calendar(state)
            await self._breathe()

    async def _finish_scope(self, counting: _Round) -> None:
        """Count the schedules that share their runs with others of the same text, and write the scope."""
        for kind, times in counting.shared.items():
            await self._count(counting, counting.examples[kind], kind, times)
        if counting.scope != ALL:
            await self._write(counting.table, counting.scope, counting.now)
            await self.store.overview.calendar.write(counting.scope, counting.calendar.facts(counting.now))

    async def _count(self, counting: _Round, state: ScheduleState, kind: str, times: int) -> None:
        first, last = counting.total.first, counting.total.last
        for number, (minute, runs) in enumerate(upcoming_minutes(state, counting.now, first, last)):
            if runs:
                counting.total.add(minute, runs * times, kind)
                if counting.scope != ALL:
                    counting.table.add(minute, runs * times, kind)
            if number % 32 == 0:
                await self._breathe()

    async def _write(self, table: LoadTable, scope: str, now: int) -> None:
        batch = list[LoadHour]()
        for hour in table.hours(scope, now):
            batch.append(hour)
            await self._breathe()
            if len(batch) == HOURS_PER_WRITE:
                await self.store.overview.write_load(batch)
                batch = []
        await self.store.overview.write_load(batch)

    async def _breathe(self) -> None:
        if self.timer.monotonic() - self.slice_start > SLICE_SECONDS:
            await self._rest()

    async def _rest(self) -> None:
        spent = self.timer.monotonic() - self.slice_start  # longer than a slice if the store or the host is busy
        await self.timer.sleep(min(MAX_BREAK_SECONDS, max(MIN_BREAK_SECONDS, BREAK_FACTOR * spent)))
        self.slice_start = self.timer.monotonic()


class _Round:
    """Counters of one round: of all schedules, and of the scope that is being read."""

    def __init__(self, now: int) -> None:
        self.now, self.total, self.whole_calendar = now, LoadTable(now // 60_000), CalendarTable()
        self.begin_scope(ALL)

    def begin_scope(self, scope: str) -> None:
        """Begin to count the schedules of another scope."""
        self.scope, self.table = scope, LoadTable(self.total.first)
        self.shared, self.examples = Counter[str](), dict[str, ScheduleState]()
        self.calendar = CalendarTable()

    def add_to_calendar(self, state: ScheduleState) -> None:
        """Add a schedule to the calendar facts."""
        schedule = state.job.schedule
        hours, runs = fixed_hours(schedule), rare_runs(state, self.now)
        for table in (self.whole_calendar, self.calendar):
            table.add(schedule.zone.name, hours, runs)


def counting_load(load_pass: LoadPass) -> AbstractAsyncContextManager[None]:
    """Count the load while the body of the `with` statement runs."""
    return in_background(load_pass.run())
