"""Planning: the state of a schedule and the current time give a plan.

The order of the decisions is normative: handled periods are left alone; then unschedulable, deadline, catch-up,
overlap. A plan is a value: nothing has happened when `plan` returns, and the store decides whether the plan can still
be committed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kron.rules.action import ScheduleAction
from kron.rules.after_end import deletion_after_end
from kron.rules.attempt import Attempt
from kron.rules.catchup import catch_up, has_ended
from kron.rules.counters import counted_runs, last_allowed, pause_after_failures
from kron.rules.draft import PlanBuilder
from kron.rules.expiry import handle_expired_runs, retry_failed
from kron.rules.fast_path import plan_fast
from kron.rules.gap_record import GapRecord
from kron.rules.launch_result import earlier
from kron.rules.outcome import Outcome, Reason
from kron.rules.overlap import start_pending
from kron.rules.run import Run, ended, overlap_of
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.survey import DueScan
from kron.timing.due import Due
from kron.timing.key import key_of
from kron.timing.period import next_nominal
from kron.timing.schedule.policy import MILLISECOND, Catchup, Overlap

_LastRun = tuple[int, int] | None  # due time and period of the last run that is allowed; None: no limit
RECHECK_MS = 1_000  # milliseconds until the next check for the launch result of the preceding run


class Plan(NamedTuple):
    """Changes to one schedule: written completely, or not at all."""

    state: ScheduleState
    cursor: int
    next_check_at: int | None  # milliseconds: next check; None: nothing will ever be due
    new: tuple[Run, ...] = ()
    changed: tuple[tuple[Run, Run], ...] = ()  # before and after
    gap: GapRecord | None = None
    cancels: tuple[Run, ...] = ()  # runs to cancel at their targets
    attempts: tuple[tuple[Run, Attempt], ...] = ()  # attempts that were lost, with their runs
    action: ScheduleAction | None = None  # pause after too many failures, or deletion after the end

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
        return not (self.new or self.changed or self.gap or self.action) and self.cursor == self.state.cursor


def plan(state: ScheduleState, now: int, *, owner: str, lease: int) -> Plan:
    """Return what must happen to a schedule now.

    Args:
        state: State of the schedule.
        now: Current time in milliseconds.
        owner: The worker that plans, and that owns the claims of the plan.
        lease: Length of the claims in milliseconds.
    """
    fast_plan = plan_fast(state, now, owner, now + lease)
    if fast_plan is not None:
        cursor, next_check_at, run = fast_plan
        return Plan(state, cursor, next_check_at, (run,) if run else ())
    return plan_full(state, now, owner=owner, lease=lease)


def plan_full(state: ScheduleState, now: int, *, owner: str, lease: int) -> Plan:
    """Return the same plan for any state, step by step, without the fast path."""
    return _within_max_runs(lambda last: _plan_up_to(state, now, owner, now + lease, last))


def _plan_up_to(
    state: ScheduleState, now: int, owner: str, lease: int, last: _LastRun
) -> tuple[PlanBuilder, DueScan, GapRecord | None]:
    """Return the decisions on all open runs, and on the due periods up to `last`."""
    draft = _draft(state, now, owner, lease)
    handle_expired_runs(draft)
    draft.action = pause_after_failures(draft)
    is_inactive, scan, gap = state.is_inactive or draft.action is not None, DueScan(), None
    if not is_inactive:
        scan, gap = _record_due_periods(draft, last)
    if not state.deleted:
        start_pending(draft, requested_only=is_inactive)  # requested runs are launched during a pause, too
    retry_failed(draft)
    return draft, scan, gap


def record_due(state: ScheduleState, now: int) -> Plan:
    """Return a plan that only records the due periods, for a caller that cannot launch them.

    The recorded runs wait for a worker. No further pass follows, so that nothing may be left over: periods beyond the
    limit become a gap record.
    """

    def record_up_to(last: _LastRun) -> tuple[PlanBuilder, DueScan, GapRecord | None]:
        draft = _draft(state, now, "", now)
        scan, gap = (DueScan(), None) if state.is_inactive else _record_due_periods(draft, last, at_once=True)
        return draft, scan, gap

    return _within_max_runs(record_up_to)


def _within_max_runs(decide: Callable[[_LastRun], tuple[PlanBuilder, DueScan, GapRecord | None]]) -> Plan:
    """Return the plan. If it has more runs than `max_runs` allows, decide again on the periods up to the last one."""
    draft, scan, gap = decide(None)
    while (last := last_allowed(draft)) is not None:
        draft, scan, gap = decide(last)
    return _build_plan(draft, scan, gap)


def _draft(state: ScheduleState, now: int, owner: str, lease: int) -> PlanBuilder:
    return PlanBuilder(state, now, owner, lease, {run.key: run for run in state.open_runs})


def _record_due_periods(
    draft: PlanBuilder, last: _LastRun, *, at_once: bool = False
) -> tuple[DueScan, GapRecord | None]:
    scan, gap = catch_up(draft.state, draft.now, at_once=at_once)
    if last is not None:
        scan.due, scan.more = [due for due in scan.due if (due.at, due.nominal) <= last], True
    for run in _due_runs(draft.state, scan, draft.now):
        if run.key not in draft.runs:  # a recorded period is handled
            draft.set_run(run)
    return scan, gap


def _due_runs(state: ScheduleState, scan: DueScan, now: int) -> list[Run]:
    """Return the record of each due period: ended already, or waiting to be launched."""
    runs, late_count = list[Run](), 0
    for due in sorted(scan.due, key=lambda due: (due.at, due.nominal)):
        run = new_run(state, due, now)
        if not due.schedulable:
            run = ended(run, State.UNSCHEDULABLE, now, Outcome.UNSCHEDULABLE, Reason.CONSTRAINTS)
        elif lateness(state, due.at, now):
            run = _late_run(state, run, now, late_count, scan.due)
            late_count += 1
        runs.append(run)
    return runs


def new_run(state: ScheduleState, due: Due, now: int) -> Run:
    """Return the pending run of a due period."""
    key = key_of(state.job.identity, due.nominal)
    return Run(key, state.job.identity, due.nominal, state.revision, due.at, State.PENDING, created=now, changed=now)


def skipped_run(state: ScheduleState, due: Due, now: int, reason: Reason) -> Run:
    """Return the run of a period that is skipped without an attempt."""
    return ended(new_run(state, due, now), State.SKIPPED, now, Outcome.SKIPPED, reason)


def _late_run(state: ScheduleState, run: Run, now: int, nth: int, dues: list[Due]) -> Run:
    policy = state.policy
    if policy.deadline is not None and lateness(state, run.due, now) * MILLISECOND > policy.deadline:
        return ended(run, State.MISSED, now, Outcome.MISSED, Reason.DEADLINE)
    if not state.downtime.covers(run.due) or state.downtime.after(run.due, now) * MILLISECOND < policy.grace:
        return run  # a worker was alive: a run that is late because of Kron itself is not missed
    moved_by_edit = run.nominal in (state.owed or ()) and not lateness(
        state, state.effective_from, now
    )  # moved by an edit, not by a downtime
    miss_reason = None if moved_by_edit else _miss_reason(state, run, now, dues)
    if miss_reason is not None:
        return ended(run, State.MISSED, now, Outcome.MISSED, miss_reason)
    if policy.catchup is Catchup.SPREAD:
        return run._replace(not_before=now + nth * policy.spread_over // MILLISECOND // len(dues))
    return run


def _miss_reason(state: ScheduleState, run: Run, now: int, dues: list[Due]) -> Reason | None:
    """Return why a period that fell due in a downtime is not caught up; None if it is."""
    if has_ended(state, now):
        return Reason.ENDED
    if state.policy.catchup is Catchup.NONE:
        return Reason.CATCHUP_NONE
    has_newer = any(due.schedulable and due.nominal > run.nominal for due in dues)
    return Reason.COALESCED if has_newer and state.policy.catchup is Catchup.LATEST else None


def lateness(state: ScheduleState, due: int, now: int) -> int:
    """Return how many milliseconds late a period is; 0 if it is handled within the policy's resolution."""
    milliseconds = now - due
    return milliseconds if milliseconds * MILLISECOND >= state.policy.resolution else 0


def _build_plan(draft: PlanBuilder, scan: DueScan, gap: GapRecord | None) -> Plan:
    before = {run.key: run for run in draft.state.open_runs}
    new = tuple(run for key, run in draft.runs.items() if key not in before)
    changed = tuple((run, draft.runs[key]) for key, run in before.items() if draft.runs[key] != run)
    check_times = [check_time for run in draft.runs.values() if (check_time := _check_time(run, draft)) is not None]
    is_over = draft.state.runs_left == counted_runs(draft.state.policy, new)
    if (scan.more or scan.truncated) and not is_over:
        check_times.append(draft.now)
    if scan.upcoming is not None and not is_over:
        check_times.append(scan.upcoming)
    if draft.state.paused_until is not None:
        check_times.append(draft.state.paused_until)
    next_check_at = min(check_times, default=None)
    return Plan(
        draft.state,
        _new_cursor(draft.state, scan, gap, draft.now // 1000),
        next_check_at,
        new,
        changed,
        gap,
        tuple(draft.cancels),
        tuple(draft.attempts),
        draft.action or deletion_after_end(draft, next_check_at),
    )


def _check_time(run: Run, draft: PlanBuilder) -> int | None:
    """Return when an open run needs a check, in milliseconds.

    None if the run has ended or waits for another run, whose end wakes it.
    """
    if run.state in (State.PENDING, State.WAITING):
        if run.not_before > draft.now:
            return run.not_before
        return draft.now + RECHECK_MS if _waits_for_launch_result(run, draft) else None
    if run.state is State.RETRY:
        return run.not_before
    return earlier(run.lease, run.ends_by) if run.open and run.lease is not None else None


def _waits_for_launch_result(run: Run, draft: PlanBuilder) -> bool:
    """Return whether a run waits to replace one of an older revision, whose launch result may wake no worker."""
    if run.state is not State.PENDING or overlap_of(run, draft.state.policy) is not Overlap.REPLACE:
        return False
    effective_from = draft.state.effective_from
    return any(other.state is State.LAUNCHING and other.sent <= effective_from for other in draft.runs.values())


def _new_cursor(state: ScheduleState, scan: DueScan, gap: GapRecord | None, now: int) -> int:
    """Return the end of the handled prefix of periods.

    The cursor stays behind the clock: another calendar may have periods before the next one.
    """
    cursor = max(state.cursor, gap.last) if gap else state.cursor
    handled = state.handled_ahead.union(scan.not_responsible, (due.nominal for due in scan.due))
    following = next_nominal(state.job.schedule, cursor)
    while following in handled and following <= now:
        cursor = following
        following = next_nominal(state.job.schedule, cursor)
    return cursor
