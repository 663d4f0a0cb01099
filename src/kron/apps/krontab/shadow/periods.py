"""Periods of a shadow store: when each job would have started, by the user and the command that cron logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import product

from kron.apps.host.place import Place
from kron.apps.krontab.shadow.cron_log import MAX_RECORDS, Task, too_many
from kron.engine.store import Store
from kron.language.crontabs.clock_notes import LONG_GAP
from kron.language.crontabs.command_input import without_input
from kron.language.crontabs.log_line import logged_command
from kron.rules.outcome import Reason
from kron.rules.state import ScheduleState
from kron.timing.due import due_of
from kron.timing.job import Job
from kron.timing.period import nominals
from kron.timing.schedule import Cron

PAGE_SIZE = 1_000
_ALL_HOURS, _ALL_MINUTES = (1 << 24) - 1, (1 << 60) - 1
LATE_MINUTES, LATE_MINUTES_OF_FIXED_TIMES = 5, LONG_GAP // 60  # by which cron starts a command that it is late for


@dataclass(frozen=True, slots=True)
class ShadowPeriod:
    """Record of a period.

    Attributes:
        job: Name of the job.
        nominal: Nominal time, in seconds.
        due: When it was due, in milliseconds.
        started: When it would have started, in milliseconds; None if krond would not have started it.
        reason: Why krond would not have started it; None also if it has not recorded the period yet.
    """

    job: str
    nominal: int
    due: int
    started: int | None
    reason: Reason | None


@dataclass
class TaskPeriods:
    """Periods of all jobs that have the same user and command, and what is known of these jobs.

    Attributes:
        jobs: The jobs, with their names.
        began: When the first of the jobs was defined, in milliseconds.
        periods: Their periods.
    """

    jobs: list[tuple[str, Job]] = field(default_factory=list)
    began: int = 0
    periods: list[ShadowPeriod] = field(default_factory=list)

    @property
    def late_minutes(self) -> int:
        """Minutes by which cron can be late. Only fixed times are caught up after more than a few minutes."""
        has_fixed_times = any(_can_have_fixed_times(job) for _, job in self.jobs)
        return LATE_MINUTES_OF_FIXED_TIMES if has_fixed_times else LATE_MINUTES


def _can_have_fixed_times(job: Job) -> bool:
    """Return whether a job runs in some hours at some minutes. A `*` in the minute or hour means all of them."""
    cron = job.schedule.cron
    return isinstance(cron, Cron) and cron.hours != _ALL_HOURS and cron.minutes != _ALL_MINUTES


async def read_periods(store: Store, place: Place, since: int, upto: int) -> dict[Task, TaskPeriods]:
    """Return the periods between two instants (seconds), of jobs in force and of deleted ones.

    Raises:
        InvalidSchedule: There are too many.
    """
    account, tasks, count = place.folder.account, dict[Task, TaskPeriods](), 0
    async for state in _states(store, place):
        command = state.job.command
        if command is None:
            continue
        user = command.user or (account.name if account else "root")
        group = tasks.setdefault(Task(user, logged_command(without_input(command.line))), TaskPeriods())
        name = place.short(state.identity)
        began = (await store.revisions(state.identity))[0].at
        group.began = min(group.began, began) if group.jobs else began
        group.jobs.append((name, state.job))
        async for period in _periods(store, state, name, since, upto):
            group.periods.append(period)
            count += 1
            if count > MAX_RECORDS:
                raise too_many("periods", since * 1000)
    return tasks


async def _states(store: Store, place: Place) -> AsyncIterator[ScheduleState]:
    for prefix, deleted in product(place.prefixes, (False, True)):
        last = ""
        while page := await store.identities(last, PAGE_SIZE, prefix, deleted=deleted):
            last = page[-1]
            for state in await store.get(page):
                if state is not None:
                    yield state


async def _periods(store: Store, state: ScheduleState, name: str, since: int, upto: int) -> AsyncIterator[ShadowPeriod]:
    last, recorded = "", set[int]()
    while page := await store.runs(state.identity, PAGE_SIZE, last):
        for run in page:
            if not run.trigger and run.nominal >= since:
                recorded.add(run.nominal)
                is_shadow = run.reason is Reason.SHADOW
                started, reason = (run.sent, None) if is_shadow else (None, run.reason)
                yield ShadowPeriod(name, run.nominal, run.due, started, reason)
        if page[-1].nominal < since:
            break
        last = page[-1].key
    for gap in await store.gaps(state.identity):
        for period in _gap_periods(state.job, name, max(gap.first, since), gap.last, gap.reason):
            yield period
    if not state.is_inactive:
        for period in _gap_periods(state.job, name, max(state.cursor + 1, since), upto, None):
            if period.nominal not in recorded:
                yield period


def _gap_periods(job: Job, name: str, first: int, last: int, reason: Reason | None) -> Iterator[ShadowPeriod]:
    """Yield periods without a record of their own. An edit since then can have given the job another schedule."""
    for nominal in nominals(job.schedule, first - 1, last):
        yield ShadowPeriod(name, nominal, due_of(job, nominal).at, None, reason)
