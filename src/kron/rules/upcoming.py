"""Upcoming runs of a schedule if nothing changes, and the reason if there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import NamedTuple

from kron.rules.counters import over_reason
from kron.rules.pause import after_pause
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.survey import responsible, unhandled
from kron.timing.due import Due, due_of, window_extent
from kron.timing.openings import CENTURY_SECONDS, SearchStep, search_periods
from kron.timing.period import next_nominal, nominals
from kron.timing.recurrence import is_limited
from kron.timing.schedule.constraint import UNCONSTRAINED
from kron.timing.schedule.policy import FirstPeriod
from kron.timing.upcoming import in_time_order
from kron.timing.zone import LATEST, rfc3339

MAX_PERIODS_SCANNED = 20_000  # periods scanned
_EVER = LATEST * 1000  # milliseconds
MAX_PERIODS_PLACED = 250  # periods whose due time is computed in search of one that a new schedule owes


class UpcomingDues(NamedTuple):
    """Upcoming runs, and whether the search for them reached none of its bounds except 100 years."""

    dues: list[Due]
    complete: bool


def upcoming(state: ScheduleState, now: int, count: int) -> list[Due]:
    """Return the next runs of a schedule after `now`, in the order of their due times, as `search_upcoming` does."""
    return search_upcoming(state, now, count).dues


def search_upcoming(
    state: ScheduleState, now: int, count: int, enough: Callable[[], bool] = lambda: False, until: int = _EVER
) -> UpcomingDues:
    """Search the next runs of a schedule after `now` (milliseconds), in the order of their due times.

    Only runs that will happen are returned. Handled periods, periods that this revision does not owe, and periods of a
    schedule that is deleted, suspended, or paused without an end are left out. If the pause has an end, the runs after
    this end are returned. There are no more runs than `max_runs` leaves.

    Args:
        state: State of the schedule.
        now: Current time in milliseconds.
        count: Maximum number of runs.
        enough: Called before each step; the search ends when it returns True. Adjacent periods that the constraints
            close are one step. The search always ends after 100 years or 20,000 steps. Runs that a later period can
            precede are then left out.
        until: Latest due time in milliseconds. The search ends at the first period that is due later.
    """
    search = DueSearch(state, now, enough, until)
    return UpcomingDues(list(islice(search, count)), search.complete)


class DueSearch:
    """Search for the next runs of a schedule as `search_upcoming` describes it, one run at a time."""

    def __init__(
        self, state: ScheduleState, now: int, enough: Callable[[], bool] = lambda: False, until: int = _EVER
    ) -> None:
        self.state, self.after, self.until, self.enough = state, now, until, enough
        self._limit: _Limit | None = None

    @property
    def complete(self) -> bool:
        """Whether the search has reached none of its bounds so far, except 100 years."""
        return self._limit is None or not self._limit.is_reached

    def __iter__(self) -> Iterator[Due]:
        """Yield the next runs in the order of their due times. Nothing is computed before the first one is wanted."""
        if inactive_reason(self.state):
            return
        state, now = _after_pause(self.state, self.after)
        self._limit = limit = _Limit(now, self.enough)
        dues = self._in_time_order if any(window_extent(state.job)) else self._in_nominal_order
        yield from islice(dues(state, now, limit), state.runs_left)

    def _in_nominal_order(self, state: ScheduleState, now: int, limit: _Limit) -> Iterator[Due]:
        """Yield the runs of a schedule whose periods are due at their nominal times."""
        job, latest = state.job, self.until // 1000
        for nominal, closed_until in _search(state, now):
            if nominal > latest or limit.stop(nominal, closed_until):
                return
            if closed_until is None:
                due = due_of(job, nominal)
                if due.schedulable and due.at > now and responsible(state, due):
                    yield due

    def _in_time_order(self, state: ScheduleState, now: int, limit: _Limit) -> Iterator[Due]:
        """Yield the runs of a schedule whose periods have windows, which can overlap."""
        job, before, until = state.job, window_extent(state.job)[0], self.until
        latest = until // 1000 + before

        def due_entry(step: SearchStep) -> tuple[int, Due] | None:
            if step.closed_until is not None:
                return None
            due = due_of(job, step.nominal)
            return (due.at, due) if due.schedulable and due.at > now and responsible(state, due) else None

        def earliest(step: SearchStep) -> int:
            return (step.nominal - before) * 1000

        def stop(step: SearchStep) -> bool:
            return step.nominal > latest or limit.stop(*step)

        dues = in_time_order(_search(state, now), due_entry, earliest, stop)
        return takewhile(lambda due: due.at <= until, dues)


def next_period(state: ScheduleState, new: Sequence[Run] = ()) -> int | None:
    """Return the nominal time (seconds) of the earliest period that this revision owes and that has no record.

    The period can be overdue, and it can turn out to be unschedulable. For a paused schedule, it is the first period
    after the end of the pause. Stores keep this value for readers; no decision depends on it.

    Args:
        state: State of the schedule.
        new: Runs that are recorded together with this state and are not part of it yet.

    Returns:
        The nominal time; None if no period is planned, as in `inactive_reason` or after the last period.
    """
    handled = state.handled_ahead.union(run.nominal for run in new if not run.trigger) if new else state.handled_ahead
    job, cursor = state.job, state.cursor
    if state.runs_left == 0:
        return None
    if state.paused or state.deleted or job.schedule.policy.suspend:
        return None if inactive_reason(state) else _first_owed(*_after_pause(state, cursor * 1000), handled)
    if cursor < _all_owed_after(state):
        return _first_owed(state, cursor * 1000, handled)
    nominal = next_nominal(job.schedule, cursor if job.start is None or job.start < cursor else job.start)
    while nominal in handled and nominal is not None:
        nominal = next_nominal(job.schedule, nominal)
    return None if nominal is None or (job.end is not None and nominal > job.end) else nominal


def inactive_reason(state: ScheduleState) -> str:
    """Return why a schedule will not run until it is changed; empty if it can run."""
    if state.deleted:
        return "the schedule is deleted"
    if state.paused and state.paused_until is None:
        return "the schedule is paused until it is resumed"
    return "the schedule is suspended by its policy" if state.policy.suspend else ""


def no_upcoming_reason(state: ScheduleState, now: int) -> str:
    """Return why `upcoming` found no run."""
    job = state.job
    reason = inactive_reason(state) or over_reason(state)
    if reason:
        return reason
    if job.end is not None and now // 1000 >= job.end:
        return f"the schedule ended at {rfc3339(job.end)}"
    state, now = _after_pause(state, now)
    nominal = next(unhandled(state, _search_start(state, now)), None)
    if nominal is None:
        end = rfc3339(LATEST if job.end is None else job.end)
        limit = ": its moments or its validity have ended" if is_limited(job.schedule) else f" until {end}"
        return f"the schedule has no further period{limit}"
    if nominal > now // 1000 + CENTURY_SECONDS:
        return f"the next period is more than 100 years ahead, at {rfc3339(nominal)}"
    search_limit = _Limit(now)
    for step in _search(state, now):
        if search_limit.stop(*step):
            break
    if search_limit.is_reached and search_limit.upto <= now // 1000 + window_extent(job)[0]:
        return f"the windows of more than {MAX_PERIODS_SCANNED:,} periods overlap, so the next run is not known"
    return f"no period until {rfc3339(search_limit.upto)} has a time that satisfies the constraints"


def _after_pause(state: ScheduleState, now: int) -> tuple[ScheduleState, int]:
    """Return the state after the pause, and the later one of `now` and the last millisecond of the pause."""
    if not state.paused or state.paused_until is None:
        return state, now
    last_paused = state.paused_until - 1  # the pause excludes its end
    return after_pause(state, last_paused), max(now, last_paused)


def _all_owed_after(state: ScheduleState) -> int:
    """Return a second after which the revision owes every period."""
    effective_second, schedule = state.effective_from // 1000, state.job.schedule
    if state.owed is not None or schedule.policy.first_period is not FirstPeriod.CHOSEN:
        return effective_second
    return (
        effective_second + window_extent(state.job)[0]
        if schedule.policy.jitter
        else effective_second - schedule.window.origin
    )


def _first_owed(state: ScheduleState, upto: int, handled: frozenset[int]) -> int | None:
    """Return the earliest owed period without a record whose nominal time or due time is later than `upto`."""
    job, (before, after), effective_second = state.job, window_extent(state.job), state.effective_from // 1000
    start = max(state.cursor, upto // 1000 - after - 1, state.cursor if job.start is None else job.start)
    first = {
        FirstPeriod.CHOSEN: effective_second - after - 1,
        FirstPeriod.AFTER: effective_second,
        FirstPeriod.CURRENT_MINUTE: effective_second // 60 * 60 - 1,
    }[state.policy.first_period if state.owed is None else FirstPeriod.AFTER]
    early = sorted(nominal for nominal in state.owed or () if start < nominal <= effective_second)
    certain = max(_all_owed_after(state), upto // 1000 + before)
    uncertain = nominals(job.schedule, max(start, first), certain if job.end is None else min(certain, job.end))
    for nominal in islice(chain(early, uncertain), MAX_PERIODS_PLACED):
        due = due_of(job, nominal)
        if nominal not in handled and responsible(state, due) and max(nominal * 1000, due.at) > upto:
            return nominal
    later = nominals(job.schedule, max(start, certain), job.end)
    return next((nominal for nominal in later if nominal not in handled), None)


def _search_start(state: ScheduleState, now: int) -> int:
    return max(state.cursor, now // 1000 - window_extent(state.job)[1] - 1)


def _search(state: ScheduleState, now: int) -> Iterator[SearchStep]:
    """Yield the unhandled periods after the cursor, with one step for adjacent periods that the constraints close."""
    start, schedule = _search_start(state, now), state.job.schedule
    if schedule.policy.jitter or schedule.constraints == UNCONSTRAINED:  # jitter ignores constraints
        return map(SearchStep, unhandled(state, start))
    return _constrained_search(state, start)


def _constrained_search(state: ScheduleState, start: int) -> Iterator[SearchStep]:
    job = state.job
    for step in search_periods(job.schedule, start if job.start is None else max(start, job.start)):
        if job.end is not None and step.nominal > job.end:
            return
        if step.nominal not in state.handled_ahead or step.closed_until is not None:
            yield step


class _Limit:
    """Limit of a search: 100 years, 20,000 periods, or what the caller sets. It keeps how far the search came."""

    def __init__(self, now: int, enough: Callable[[], bool] = lambda: False) -> None:
        self.horizon, self.enough = now // 1000 + CENTURY_SECONDS, enough
        self.steps, self.last = 0, now // 1000
        self.is_reached = False  # not by the 100 years

    @property
    def upto(self) -> int:
        """Second up to which the search has looked."""
        return min(self.horizon, self.last)

    def stop(self, nominal: int, closed_until: int | None = None) -> bool:
        """Return whether the search ends before this step, which `SearchStep` describes."""
        if nominal > self.horizon:
            return True
        if self.steps >= MAX_PERIODS_SCANNED or self.enough():
            self.is_reached = True
            return True
        self.steps += 1
        self.last = closed_until or nominal
        return False
