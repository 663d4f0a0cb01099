"""Planning: the state of a schedule and the current time give a plan.

The order of the decisions is normative: handled periods are left alone; then unschedulable, deadline, catch-up,
overlap. A plan is a value: nothing has happened when `plan` returns, and the store decides whether the plan can still
be committed.
"""

from __future__ import annotations

from typing import NamedTuple

from kron.rules.catchup import catch_up, has_ended
from kron.rules.draft import PlanBuilder
from kron.rules.expiry import handle_expired_runs, retry_failed
from kron.rules.fast_path import plan_fast
from kron.rules.outcome import GapRecord, Outcome, Reason
from kron.rules.overlap import start_pending
from kron.rules.run import Run, State, ended, overlap_of
from kron.rules.state import ScheduleState
from kron.rules.survey import DueScan
from kron.timing.due import Due
from kron.timing.key import key_of
from kron.timing.period import next_nominal
from kron.timing.schedule.policy import MILLISECOND, Catchup, Overlap

ASK_AGAIN = 1_000  # milliseconds until the next check for the launch result of the preceding run


class Plan(NamedTuple):
    """Changes to one schedule: written completely, or not at all."""

    state: ScheduleState
    cursor: int
    next_check_at: int | None  # milliseconds: next check; None: nothing will ever be due
    new: tuple[Run, ...] = ()
    changed: tuple[tuple[Run, Run], ...] = ()  # before and after
    gap: GapRecord | None = None
    cancels: tuple[Run, ...] = ()  # runs to cancel at their targets

    @property
    def launches(self) -> tuple[Run, ...]:
        """Runs to launch once the plan is committed."""
        if not self.changed and len(self.new) < 2:  # as in almost every plan
            return self.new if self.new and self.new[0].state is State.LAUNCHING else ()
        after = (*self.new, *(run for _, run in self.changed))
        return tuple(run for run in after if run.state is State.LAUNCHING)

    @property
    def empty(self) -> bool:
        """Whether the plan changes nothing but the time of the next check."""
        return not (self.new or self.changed or self.gap) and self.cursor == self.state.cursor


def plan(case: ScheduleState, now: int, *, owner: str, lease: int) -> Plan:
    """Return what must happen to a schedule now.

    Args:
        case: State of the schedule.
        now: Current time in milliseconds.
        owner: The worker that plans, and that owns the claims of the plan.
        lease: Length of the claims in milliseconds.
    """
    swift = plan_fast(case, now, owner, now + lease)
    if swift is not None:
        cursor, wake, run = swift
        return Plan(case, cursor, wake, (run,) if run else ())
    return plan_full(case, now, owner=owner, lease=lease)


def plan_full(case: ScheduleState, now: int, *, owner: str, lease: int) -> Plan:
    """Return the same plan for any state, step by step, without the fast path."""
    draft = _draft(case, now, owner, now + lease)
    handle_expired_runs(draft)
    seen, gap = DueScan(), None
    if not case.is_inactive:
        seen, gap = _take_on(draft)
    if not case.deleted:
        start_pending(draft, asked=case.is_inactive)  # requested runs are launched during a pause, too
    retry_failed(draft)
    return _finished(draft, seen, gap)


def record_due(case: ScheduleState, now: int) -> Plan:
    """Return a plan that only records the due periods, for a caller that cannot launch them.

    The recorded runs wait for a worker. No further pass follows, so that nothing may be left over: periods beyond the
    limit become a gap record.
    """
    draft = _draft(case, now, "", now)
    seen, gap = (DueScan(), None) if case.is_inactive else _take_on(draft, at_once=True)
    return _finished(draft, seen, gap)


def _draft(case: ScheduleState, now: int, owner: str, lease: int) -> PlanBuilder:
    return PlanBuilder(case, now, owner, lease, {run.key: run for run in case.open_runs})


def _take_on(draft: PlanBuilder, *, at_once: bool = False) -> tuple[DueScan, GapRecord | None]:
    seen, gap = catch_up(draft.case, draft.now, at_once=at_once)
    for run in _taken_on(draft.case, seen, draft.now):
        if run.key not in draft.runs:  # a recorded period is handled
            draft.set_run(run)
    return seen, gap


def _taken_on(case: ScheduleState, seen: DueScan, now: int) -> list[Run]:
    """Return the record of each due period: ended already, or waiting to be launched."""
    runs, late = list[Run](), 0
    for due in sorted(seen.due, key=lambda due: (due.at, due.nominal)):
        run = new_run(case, due, now)
        if not due.schedulable:
            run = ended(run, State.UNSCHEDULABLE, now, Outcome.UNSCHEDULABLE, Reason.CONSTRAINTS)
        elif lateness(case, due.at, now):
            run = _late(case, run, now, late, seen.due)
            late += 1
        runs.append(run)
    return runs


def new_run(case: ScheduleState, due: Due, now: int) -> Run:
    """Return the pending run of a due period."""
    key = key_of(case.job.identity, due.nominal)
    return Run(key, case.job.identity, due.nominal, case.revision, due.at, State.PENDING, created=now, changed=now)


def _late(case: ScheduleState, run: Run, now: int, nth: int, dues: list[Due]) -> Run:
    policy = case.policy
    if policy.deadline is not None and lateness(case, run.due, now) * MILLISECOND > policy.deadline:
        return ended(run, State.MISSED, now, Outcome.MISSED, Reason.DEADLINE)
    if not case.downtime.covers(run.due) or case.downtime.after(run.due, now) * MILLISECOND < policy.grace:
        return run  # a worker was alive: a run that is late because of Kron itself is not missed
    moved = run.nominal in (case.owed or ()) and not lateness(
        case, case.effective_from, now
    )  # moved by an edit, not by a downtime
    missed = None if moved else _missed(case, run, now, dues)
    if missed is not None:
        return ended(run, State.MISSED, now, Outcome.MISSED, missed)
    if policy.catchup is Catchup.SPREAD:
        return run._replace(not_before=now + nth * policy.spread_over // MILLISECOND // len(dues))
    return run


def _missed(case: ScheduleState, run: Run, now: int, dues: list[Due]) -> Reason | None:
    """Return why a period that fell due in a downtime is not caught up; None if it is."""
    if has_ended(case, now):
        return Reason.ENDED
    if case.policy.catchup is Catchup.NONE:
        return Reason.CATCHUP_NONE
    newer = any(due.schedulable and due.nominal > run.nominal for due in dues)
    return Reason.COALESCED if newer and case.policy.catchup is Catchup.LATEST else None


def lateness(case: ScheduleState, due: int, now: int) -> int:
    """Return how many milliseconds late a period is; 0 if it is handled within the policy's resolution."""
    late = now - due
    return late if late * MILLISECOND >= case.policy.resolution else 0


def _finished(draft: PlanBuilder, seen: DueScan, gap: GapRecord | None) -> Plan:
    before = {run.key: run for run in draft.case.open_runs}
    new = tuple(run for key, run in draft.runs.items() if key not in before)
    changed = tuple((run, draft.runs[key]) for key, run in before.items() if draft.runs[key] != run)
    wakes = [wake for run in draft.runs.values() if (wake := _wake(run, draft)) is not None]
    if seen.more or seen.truncated:
        wakes.append(draft.now)
    if seen.upcoming is not None:
        wakes.append(seen.upcoming)
    if draft.case.paused_until is not None:
        wakes.append(draft.case.paused_until)
    cursor = _cursor(draft.case, seen, gap, draft.now // 1000)
    return Plan(draft.case, cursor, min(wakes, default=None), new, changed, gap, tuple(draft.cancels))


def _wake(run: Run, draft: PlanBuilder) -> int | None:
    """Return when an open run needs a check, in milliseconds.

    None if the run has ended or waits for another run, whose end wakes it.
    """
    if run.state in (State.PENDING, State.WAITING):
        if run.not_before > draft.now:
            return run.not_before
        return draft.now + ASK_AGAIN if _waits_for_answer(run, draft) else None
    if run.state is State.RETRY:
        return run.not_before
    return run.lease if run.open else None


def _waits_for_answer(run: Run, draft: PlanBuilder) -> bool:
    """Return whether a run waits to replace one of an older revision, whose launch result may wake no worker."""
    if run.state is not State.PENDING or overlap_of(run, draft.case.policy) is not Overlap.REPLACE:
        return False
    since = draft.case.effective_from
    return any(other.state is State.LAUNCHING and other.sent <= since for other in draft.runs.values())


def _cursor(case: ScheduleState, seen: DueScan, gap: GapRecord | None, now: int) -> int:
    """Return the end of the handled prefix of periods.

    The cursor stays behind the clock: another calendar may have periods before the next one.
    """
    cursor = max(case.cursor, gap.last) if gap else case.cursor
    handled = case.handled_ahead.union(seen.not_responsible, (due.nominal for due in seen.due))
    following = next_nominal(case.job.schedule, cursor)
    while following in handled and following <= now:
        cursor = following
        following = next_nominal(case.job.schedule, cursor)
    return cursor
