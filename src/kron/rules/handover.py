"""Handover: the periods that a revision leaves behind when it is replaced or deleted.

Due periods are recorded under the old revision. A period whose nominal time has passed and whose chosen time has not is
still open. The next revision decides it, if its calendar has the period.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, takewhile

from kron.errors import InvalidInput
from kron.rules.outcome import Reason
from kron.rules.pause import early_runs_during_pause, periods_during_pause
from kron.rules.plan import Plan, record_due, skipped_run
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.survey import MAX_PERIODS_PER_PASS, responsible, unhandled
from kron.timing.due import Due, due_of, window_extent
from kron.timing.schedule.policy import Resume


def recorded(state: ScheduleState, now: int, *, lifted: bool = False) -> Plan:
    """Return the records of the periods that fell due under a revision that ends.

    Periods that passed during a pause or a suspension share one gap record.

    Args:
        state: State of the schedule under the old revision.
        now: Current time in milliseconds.
        lifted: Whether the next revision ends the suspension. Where the policy says so, the deadline then decides on
            the periods that passed.
    """
    if not state.paused and (not state.policy.suspend or (lifted and state.policy.resume is Resume.BY_DEADLINE)):
        return record_due(_without_suspension(state), now)
    return _record_pause(state, now, Reason.PAUSED if state.paused else Reason.SUSPENDED)


def not_yet_due(state: ScheduleState, now: int, plan: Plan | None = None) -> list[Due]:
    """Return the periods whose nominal time has passed and whose due time has not, oldest first.

    Raises:
        InvalidInput: One window has more periods than a pass handles.
    """
    (_, after), now_seconds = window_extent(state.job), now // 1000
    if not after:
        return []
    cursor, new = (plan.cursor, plan.new) if plan else (state.cursor, ())
    recorded_nominals = {run.nominal for run in new if not run.trigger}
    begin = max(cursor, now_seconds - after - 1)
    nominals = list(
        islice(takewhile(lambda nominal: nominal <= now_seconds, unhandled(state, begin)), MAX_PERIODS_PER_PASS + 1)
    )
    if len(nominals) > MAX_PERIODS_PER_PASS:
        message = f"schedule {state.identity!r} has more than {MAX_PERIODS_PER_PASS} periods in one window"
        raise InvalidInput("TOO_MANY", message, hint="delete the schedule, and define it again with a shorter window")
    dues = (due_of(state.job, nominal) for nominal in nominals if nominal not in recorded_nominals)
    return [due for due in dues if due.at > now and responsible(state, due)]


def _record_pause(state: ScheduleState, now: int, reason: Reason) -> Plan:
    """Return the records of the periods that passed during a pause or suspension.

    One gap record covers the periods up to the first open one. Later periods get one record each, also those that were
    due before their nominal times.
    """
    open_dues = not_yet_due(state, now)
    gap = periods_during_pause(state, open_dues[0].nominal * 1000 - 1 if open_dues else now, reason)
    cursor = max(state.cursor, gap.last) if gap else state.cursor
    between = _runs_between(state, open_dues, now, reason) if open_dues else []
    return Plan(state, cursor, now, (*between, *early_runs_during_pause(state, now, now, reason)), gap=gap)


def _runs_between(state: ScheduleState, open_dues: list[Due], now: int, reason: Reason) -> list[Run]:
    """Return the records of the periods that passed between open ones."""
    open_nominals = {due.nominal for due in open_dues}
    nominals = takewhile(lambda nominal: nominal * 1000 <= now, unhandled(state, open_dues[0].nominal))
    dues = [
        due_of(state.job, nominal) for nominal in islice(nominals, MAX_PERIODS_PER_PASS) if nominal not in open_nominals
    ]
    passed_dues = [due for due in dues if responsible(state, due)]
    return [skipped_run(state, due, now, reason) for due in passed_dues]


def _without_suspension(state: ScheduleState) -> ScheduleState:
    """Return the state without its suspension."""
    if not state.policy.suspend:
        return state
    schedule = state.job.schedule
    active_schedule = replace(schedule, policy=replace(schedule.policy, suspend=False))
    return state._replace(job=replace(state.job, schedule=active_schedule))
