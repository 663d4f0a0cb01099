"""Upcoming runs of a schedule if nothing changes, and the reason if there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice

from kron.rules.pause import after_pause
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.survey import responsible, unhandled
from kron.timing.calendar import date_of, weekday_of
from kron.timing.due import Due, due_of, window_extent
from kron.timing.job import Job
from kron.timing.period import next_nominal, nominals
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED, Constraints, Reading
from kron.timing.schedule.policy import FirstPeriod
from kron.timing.upcoming import in_time_order
from kron.timing.zone import rfc3339

DAY_SECONDS = 86_400
CENTURY_SECONDS = 36_525 * DAY_SECONDS
MAX_PERIODS_SCANNED = 20_000  # periods scanned
MAX_PERIODS_PLACED = 250  # periods whose due time is computed in search of one that a new schedule owes
MAX_DAYS_SCANNED = 4_000  # days scanned for one that satisfies the constraints
MAX_UTC_OFFSET_SECONDS = 15 * 3_600  # seconds: no time zone is further from UTC


def upcoming(state: ScheduleState, now: int, count: int, enough: Callable[[], bool] = lambda: False) -> list[Due]:
    """Return the next runs of a schedule after `now` (milliseconds), in the order of their due times.

    Only runs that will happen are returned. Handled periods, periods that this revision does not owe, and periods of a
    schedule that is deleted, suspended, or paused without an end are left out. If the pause has an end, the runs after
    this end are returned.

    Args:
        state: State of the schedule.
        now: Current time in milliseconds.
        count: Maximum number of runs.
        enough: Called before each period; the search ends when it returns True. Constraints that admit nothing make the
            search long. It always ends after 100 years or 20,000 periods.
    """
    if inactive_reason(state):
        return []
    state, now = _after_pause(state, now)
    job, (before, _) = state.job, window_extent(state.job)

    def due_entry(nominal: int) -> tuple[int, Due] | None:
        due = due_of(job, nominal)
        return (due.at, due) if due.schedulable and due.at > now and responsible(state, due) else None

    candidates = _candidates(state, now, enough)
    return list(islice(in_time_order(candidates, due_entry, lambda nominal: (nominal - before) * 1000), count))


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
    if inactive_reason(state):
        return inactive_reason(state)
    if job.end is not None and now // 1000 >= job.end:
        return f"the schedule ended at {rfc3339(job.end)}"
    state, now = _after_pause(state, now)
    nominal = next(unhandled(state, _search_start(state, now)), None)
    if nominal is None:
        return "the schedule has no further period" + ("" if job.end is None else f" until {rfc3339(job.end)}")
    if nominal > now // 1000 + CENTURY_SECONDS:
        return f"the next period is more than 100 years ahead, at {rfc3339(nominal)}"
    *_, last = _candidates(state, now)
    return f"no period until {rfc3339(last)} has a time that satisfies the constraints"


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


def _candidates(state: ScheduleState, now: int, enough: Callable[[], bool] = lambda: False) -> Iterator[int]:
    """Yield the unhandled periods, without those on days that the constraints exclude, until there are enough."""
    cursor, job = _search_start(state, now), state.job
    unconstrained = (
        job.schedule.constraints is UNCONSTRAINED
        or job.schedule.constraints == UNCONSTRAINED
        or bool(job.schedule.policy.jitter)
    )
    for _ in range(MAX_PERIODS_SCANNED):
        nominal = next(unhandled(state, cursor), None)
        if nominal is None or nominal > now // 1000 + CENTURY_SECONDS or enough():
            return
        yield nominal
        cursor = nominal if unconstrained else max(nominal, _after_excluded_days(job, nominal))


def _after_excluded_days(job: Job, nominal: int) -> int:
    """Return a second up to which no later period can be placed, because the constraints exclude its days."""
    before, after = window_extent(job)
    first = (nominal - before - MAX_UTC_OFFSET_SECONDS) // DAY_SECONDS
    day = next(
        (d for d in range(first, first + MAX_DAYS_SCANNED) if _is_day_allowed(job.schedule, d)),
        first + MAX_DAYS_SCANNED,
    )
    return day * DAY_SECONDS - MAX_UTC_OFFSET_SECONDS - after - 1


def _is_day_allowed(schedule: Schedule, day: int) -> bool:
    """Return whether a day of the local calendar has a minute that satisfies the constraints."""
    date, weekday = date_of(day), weekday_of(day)
    if _day_constraints(schedule.constraints).violated_clause(Reading(day, date.month, date.day, weekday, 0)):
        return False
    clauses = [c for c in (schedule.constraints.only, schedule.constraints.avoid) if c]
    edges = {edge % 1440 for c in clauses for a, b in c.between for edge in (a, b, b + 1)}
    minutes = edges.union(range(0, 1440, 60))
    readings = (Reading(day, date.month, date.day, weekday, minute) for minute in sorted(minutes))
    return any(not schedule.constraints.violated_clause(reading) for reading in readings)


@lru_cache(256)
def _day_constraints(constraints: Constraints) -> Constraints:
    """Return the clauses of the constraints that apply to a whole day."""
    only, avoid = (c and replace(c, hours=0, between=()) for c in (constraints.only, constraints.avoid))
    return Constraints(only, avoid)
