"""Handover: the periods that a definition leaves behind when it is replaced or deleted.

What has fallen due is recorded under the old definition. A period whose nominal time has come, but not its chosen
time, is still open: the next definition decides it, if its calendar has it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, takewhile

from kron.core.case import Case
from kron.core.due import MOST, Due, due_of, reach, responsible, unhandled
from kron.core.outcome import Reason, Verdict
from kron.core.plan import Plan, new_run, record_due
from kron.core.policy import Resume
from kron.core.run import Run, State, ended
from kron.errors import KronError
from kron.pause import swallowed


def recorded(case: Case, now: int, *, lifted: bool = False) -> Plan:
    """Return the records of what has fallen due under a definition whose time is over.

    What passed during a pause or a suspension is one gap record. `lifted`: the next definition ends the suspension,
    and where the policy says so, what passed is judged by its deadline instead.
    """
    if not case.paused and (not case.policy.suspend or (lifted and case.policy.resume is Resume.BY_DEADLINE)):
        return record_due(_awake(case), now)
    return _asleep(case, now, Reason.PAUSED if case.paused else Reason.SUSPENDED)


def undue(case: Case, now: int, handled: Plan | None = None) -> list[Due]:
    """Return the periods of a case whose nominal time has come and whose due time has not, oldest first."""
    (_, after), second = reach(case.job), now // 1000
    if not after:
        return []
    cursor, new = (handled.cursor, handled.new) if handled else (case.cursor, ())
    taken = {run.nominal for run in new if not run.trigger}
    begin = max(cursor, second - after - 1)
    nominals = list(islice(takewhile(lambda nominal: nominal <= second, unhandled(case, begin)), MOST + 1))
    if len(nominals) > MOST:
        message = f"schedule {case.identity!r} has more than {MOST} periods in one window"
        raise KronError("TOO_MANY", message, hint="delete it, and define it with a shorter window")
    dues = (due_of(case.job, nominal) for nominal in nominals if nominal not in taken)
    return [due for due in dues if due.at > now and responsible(case, due)]


def _asleep(case: Case, now: int, reason: Reason) -> Plan:
    """The records of what passed while nothing was handled: one gap up to the first open period, then one by one."""
    left = undue(case, now)
    gap = swallowed(case, left[0].nominal * 1000 - 1 if left else now, reason)
    cursor = max(case.cursor, gap.last) if gap else case.cursor
    return Plan(case, cursor, now, tuple(_among(case, left, now, reason)) if left else (), gap=gap)


def _among(case: Case, left: list[Due], now: int, reason: Reason) -> list[Run]:
    """The records of the periods that passed between open ones."""
    still = {due.nominal for due in left}
    nominals = takewhile(lambda nominal: nominal * 1000 <= now, unhandled(case, left[0].nominal))
    dues = [due_of(case.job, nominal) for nominal in islice(nominals, MOST) if nominal not in still]
    passed = [due for due in dues if responsible(case, due)]
    return [ended(new_run(case, due, now), State.SKIPPED, now, Verdict.SKIPPED, reason) for due in passed]


def _awake(case: Case) -> Case:
    """The case without its suspension."""
    if not case.policy.suspend:
        return case
    schedule = case.job.schedule
    awake = replace(schedule, policy=replace(schedule.policy, suspend=False))
    return case._replace(job=replace(case.job, schedule=awake))
