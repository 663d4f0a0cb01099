"""Handover: the periods that a revision leaves behind when it is replaced or deleted.

Due periods are recorded under the old revision. A period whose nominal time has passed and whose chosen time has not is
still open. The next revision decides it, if its calendar has the period.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, takewhile

from kron.errors import InvalidInput
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause import periods_during_pause
from kron.rules.plan import Plan, new_run, record_due
from kron.rules.run import Run, State, ended
from kron.rules.state import ScheduleState
from kron.rules.survey import MAX_PERIODS_PER_PASS, responsible, unhandled
from kron.timing.due import Due, due_of, window_extent
from kron.timing.schedule.policy import Resume


def recorded(case: ScheduleState, now: int, *, lifted: bool = False) -> Plan:
    """Return the records of the periods that fell due under a revision that ends.

    Periods that passed during a pause or a suspension share one gap record.

    Args:
        case: State of the schedule under the old revision.
        now: Current time in milliseconds.
        lifted: Whether the next revision ends the suspension. Where the policy says so, the deadline then decides on
            the periods that passed.
    """
    if not case.paused and (not case.policy.suspend or (lifted and case.policy.resume is Resume.BY_DEADLINE)):
        return record_due(_awake(case), now)
    return _asleep(case, now, Reason.PAUSED if case.paused else Reason.SUSPENDED)


def undue(case: ScheduleState, now: int, handled: Plan | None = None) -> list[Due]:
    """Return the periods whose nominal time has passed and whose due time has not, oldest first.

    Raises:
        InvalidInput: One window has more periods than a pass handles.
    """
    (_, after), second = window_extent(case.job), now // 1000
    if not after:
        return []
    cursor, new = (handled.cursor, handled.new) if handled else (case.cursor, ())
    taken = {run.nominal for run in new if not run.trigger}
    begin = max(cursor, second - after - 1)
    nominals = list(
        islice(takewhile(lambda nominal: nominal <= second, unhandled(case, begin)), MAX_PERIODS_PER_PASS + 1)
    )
    if len(nominals) > MAX_PERIODS_PER_PASS:
        message = f"schedule {case.identity!r} has more than {MAX_PERIODS_PER_PASS} periods in one window"
        raise InvalidInput("TOO_MANY", message, hint="delete the schedule, and define it again with a shorter window")
    dues = (due_of(case.job, nominal) for nominal in nominals if nominal not in taken)
    return [due for due in dues if due.at > now and responsible(case, due)]


def _asleep(case: ScheduleState, now: int, reason: Reason) -> Plan:
    """Return the records of the periods that passed during a pause or suspension.

    One gap record covers the periods up to the first open one. Later periods get one record each.
    """
    left = undue(case, now)
    gap = periods_during_pause(case, left[0].nominal * 1000 - 1 if left else now, reason)
    cursor = max(case.cursor, gap.last) if gap else case.cursor
    return Plan(case, cursor, now, tuple(_among(case, left, now, reason)) if left else (), gap=gap)


def _among(case: ScheduleState, left: list[Due], now: int, reason: Reason) -> list[Run]:
    """Return the records of the periods that passed between open ones."""
    still = {due.nominal for due in left}
    nominals = takewhile(lambda nominal: nominal * 1000 <= now, unhandled(case, left[0].nominal))
    dues = [due_of(case.job, nominal) for nominal in islice(nominals, MAX_PERIODS_PER_PASS) if nominal not in still]
    passed = [due for due in dues if responsible(case, due)]
    return [ended(new_run(case, due, now), State.SKIPPED, now, Outcome.SKIPPED, reason) for due in passed]


def _awake(case: ScheduleState) -> ScheduleState:
    """Return the state without its suspension."""
    if not case.policy.suspend:
        return case
    schedule = case.job.schedule
    awake = replace(schedule, policy=replace(schedule.policy, suspend=False))
    return case._replace(job=replace(case.job, schedule=awake))
