"""All the arrows at once: what is known of a schedule, and now -> what must happen.

The order is the normative one: what is handled is left alone; then unschedulable, deadline, catch-up, overlap.
Nothing has happened yet when `plan` returns: a plan is a value, and the store decides whether it still holds.
"""

from __future__ import annotations

from typing import NamedTuple

from kron.core.case import Case
from kron.core.catchup import catch_up, has_ended
from kron.core.draft import Draft
from kron.core.due import Due, Survey
from kron.core.ordinary import ordinary
from kron.core.outcome import Gap, Reason, Verdict
from kron.core.overlap import start_pending
from kron.core.period import next_nominal
from kron.core.policy import MILLISECOND, Catchup, Overlap
from kron.core.run import Run, State, ended, key_of, overlap_of
from kron.core.tend import retry_failed, tend

ASK_AGAIN = 1_000  # milliseconds until it is asked again whether the run in front was answered


class Plan(NamedTuple):
    """What must happen to one schedule: written as a whole, or not at all."""

    case: Case
    cursor: int
    wake: int | None  # milliseconds; None: nothing will ever be due
    new: tuple[Run, ...] = ()
    changed: tuple[tuple[Run, Run], ...] = ()  # before and after
    gap: Gap | None = None
    cancels: tuple[Run, ...] = ()  # runs to be ended in the world

    @property
    def launches(self) -> tuple[Run, ...]:
        """The runs that are to be sent once the plan is written."""
        if not self.changed and len(self.new) < 2:  # as in almost every plan
            return self.new if self.new and self.new[0].state is State.LAUNCHING else ()
        after = (*self.new, *(run for _, run in self.changed))
        return tuple(run for run in after if run.state is State.LAUNCHING)

    @property
    def empty(self) -> bool:
        """Whether nothing is to be written but the time to wake."""
        return not (self.new or self.changed or self.gap) and self.cursor == self.case.cursor


def plan(case: Case, now: int, *, owner: str, lease: int) -> Plan:
    """What must happen now. `owner` is the worker that asks; what it claims is its own for `lease` milliseconds."""
    swift = ordinary(case, now, owner, now + lease)
    if swift is not None:
        cursor, wake, run = swift
        return Plan(case, cursor, wake, (run,) if run else ())
    return plan_at_length(case, now, owner=owner, lease=lease)


def plan_at_length(case: Case, now: int, *, owner: str, lease: int) -> Plan:
    """The same for any case, step by step."""
    draft = _draft(case, now, owner, now + lease)
    tend(draft)
    seen, gap = Survey(), None
    if not case.idle:
        seen, gap = _take_on(draft)
    if not case.deleted:
        start_pending(draft, asked=case.idle)  # what somebody asks for runs during a pause, too
    retry_failed(draft)
    return _finished(draft, seen, gap)


def record_due(case: Case, now: int) -> Plan:
    """Only the record of what has fallen due, for somebody who cannot start it: it waits for a worker.

    There will be no other pass for what is left over, so nothing is: a tail beyond the bound is a gap.
    """
    draft = _draft(case, now, "", now)
    seen, gap = (Survey(), None) if case.idle else _take_on(draft, at_once=True)
    return _finished(draft, seen, gap)


def _draft(case: Case, now: int, owner: str, lease: int) -> Draft:
    return Draft(case, now, owner, lease, {run.key: run for run in case.open})


def _take_on(draft: Draft, *, at_once: bool = False) -> tuple[Survey, Gap | None]:
    seen, gap = catch_up(draft.case, draft.now, at_once=at_once)
    for run in _taken_on(draft.case, seen, draft.now):
        if run.key not in draft.runs:  # what is recorded is handled
            draft.put(run)
    return seen, gap


def _taken_on(case: Case, seen: Survey, now: int) -> list[Run]:
    """The record of each period that has fallen due: ended already, or waiting to start."""
    runs, late = list[Run](), 0
    for due in sorted(seen.due, key=lambda due: (due.at, due.nominal)):
        run = new_run(case, due, now)
        if not due.schedulable:
            run = ended(run, State.UNSCHEDULABLE, now, Verdict.UNSCHEDULABLE, Reason.CONSTRAINTS)
        elif lateness(case, due.at, now):
            run = _late(case, run, now, late, seen.due)
            late += 1
        runs.append(run)
    return runs


def new_run(case: Case, due: Due, now: int) -> Run:
    """The record of a period that has just been taken on."""
    key = key_of(case.job.identity, due.nominal)
    return Run(key, case.job.identity, due.nominal, case.revision, due.at, State.PENDING, created=now, changed=now)


def _late(case: Case, run: Run, now: int, nth: int, dues: list[Due]) -> Run:
    policy = case.policy
    if policy.deadline is not None and lateness(case, run.due, now) * MILLISECOND > policy.deadline:
        return ended(run, State.MISSED, now, Verdict.MISSED, Reason.DEADLINE)
    if not case.downtime.covers(run.due) or case.downtime.after(run.due, now) * MILLISECOND < policy.grace:
        return run  # a worker lived: what is late because of Kron itself is not missed
    moved = run.nominal in (case.owed or ()) and not lateness(case, case.since, now)  # by an edit: nobody was away
    missed = None if moved else _missed(case, run, now, dues)
    if missed is not None:
        return ended(run, State.MISSED, now, Verdict.MISSED, missed)
    if policy.catchup is Catchup.SPREAD:
        return run._replace(not_before=now + nth * policy.spread_over // MILLISECOND // len(dues))
    return run


def _missed(case: Case, run: Run, now: int, dues: list[Due]) -> Reason | None:
    """Why a period that fell due in a downtime is not caught up; None if it is."""
    if has_ended(case, now):
        return Reason.ENDED
    if case.policy.catchup is Catchup.NONE:
        return Reason.CATCHUP_NONE
    newer = any(due.schedulable and due.nominal > run.nominal for due in dues)
    return Reason.COALESCED if newer and case.policy.catchup is Catchup.LATEST else None


def lateness(case: Case, due: int, now: int) -> int:
    """How many milliseconds late it is; what is handled within the resolution is on time."""
    late = now - due
    return late if late * MILLISECOND >= case.policy.resolution else 0


def _finished(draft: Draft, seen: Survey, gap: Gap | None) -> Plan:
    before = {run.key: run for run in draft.case.open}
    new = tuple(run for key, run in draft.runs.items() if key not in before)
    changed = tuple((run, draft.runs[key]) for key, run in before.items() if draft.runs[key] != run)
    wakes = [wake for run in draft.runs.values() if (wake := _wake(run, draft)) is not None]
    if seen.more or seen.further:
        wakes.append(draft.now)
    if seen.upcoming is not None:
        wakes.append(seen.upcoming)
    if draft.case.until is not None:
        wakes.append(draft.case.until)
    cursor = _cursor(draft.case, seen, gap, draft.now // 1000)
    return Plan(draft.case, cursor, min(wakes, default=None), new, changed, gap, tuple(draft.cancels))


def _wake(run: Run, draft: Draft) -> int | None:
    """When something is to be done about an open run. One that waits for another is woken by that one's end."""
    if run.state in (State.PENDING, State.WAITING):
        if run.not_before > draft.now:
            return run.not_before
        return draft.now + ASK_AGAIN if _waits_for_answer(run, draft) else None
    if run.state is State.RETRY:
        return run.not_before
    return run.lease if run.open else None


def _waits_for_answer(run: Run, draft: Draft) -> bool:
    """Whether it is to replace a run that was claimed under an older definition, whose answer may wake nobody."""
    if run.state is not State.PENDING or overlap_of(run, draft.case.policy) is not Overlap.REPLACE:
        return False
    since = draft.case.since
    return any(other.state is State.LAUNCHING and other.sent <= since for other in draft.runs.values())


def _cursor(case: Case, seen: Survey, gap: Gap | None, now: int) -> int:
    """The end of the handled prefix. It keeps behind the clock: another calendar may have periods before the next."""
    cursor = max(case.cursor, gap.last) if gap else case.cursor
    handled = case.ahead.union(seen.foreign, (due.nominal for due in seen.due))
    following = next_nominal(case.job.schedule, cursor)
    while following in handled and following <= now:
        cursor = following
        following = next_nominal(case.job.schedule, cursor)
    return cursor
