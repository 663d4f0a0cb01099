"""Overlap policy: what happens to a due period while an earlier run may be active."""

from __future__ import annotations

from kron.rules.draft import PlanBuilder
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run, claimed, ended, is_at_limit, overlap_of
from kron.rules.run_state import RUNNING, State
from kron.timing.schedule.policy import MILLISECOND, Overlap, Policy


def start_pending(draft: PlanBuilder, *, requested_only: bool = False) -> None:
    """Launch, skip or leave waiting every pending run whose time has come, oldest first.

    Under `coalesce`, the newest run stands for all and is handled first. `requested_only` restricts this to requested
    runs, as during a pause.
    """
    for run in _ready_runs(draft):
        if requested_only and not run.trigger:
            continue
        if draft.runs[run.key] is run:  # another run has not replaced it meanwhile
            _apply_overlap_policy(draft, run)


def _ready_runs(draft: PlanBuilder) -> list[Run]:
    pending = [run for run in draft.runs.values() if run.state is State.PENDING and run.not_before <= draft.now]
    newest_first = draft.state.policy.overlap is Overlap.COALESCE
    return sorted(pending, key=lambda run: (max(run.not_before, run.due), run.nominal, run.key), reverse=newest_first)


def _apply_overlap_policy(draft: PlanBuilder, run: Run) -> None:
    active = [other for other in draft.runs.values() if other.active]
    overlap = overlap_of(run, draft.state.policy)
    if _overdue(run, draft.state.job_of(run).schedule.policy, draft.now):
        draft.set_run(ended(run, State.MISSED, draft.now, Outcome.MISSED, Reason.DEADLINE))
    elif overlap is Overlap.COALESCE:
        _coalesce_older_runs(draft, run)
        if not active:
            _start_run(draft, run)
    elif overlap is Overlap.ALLOW and is_at_limit(run, draft.state.policy, len(active)):
        draft.set_run(ended(run, State.SKIPPED, draft.now, Outcome.SKIPPED, Reason.OVERLAP))
    elif not active or overlap is Overlap.ALLOW:
        _start_run(draft, run)
    elif overlap is Overlap.SKIP:
        draft.set_run(ended(run, State.SKIPPED, draft.now, Outcome.SKIPPED, Reason.OVERLAP))
    elif overlap is Overlap.REPLACE:
        _replace_active_runs(draft, run, active)
    else:
        _queue_run(draft, run)


def _overdue(run: Run, policy: Policy, now: int) -> bool:
    """Return whether no worker handled the run in time.

    A run that waits because of the policy itself is not overdue.
    """
    if policy.deadline is None or run.trigger or policy.overlap not in (Overlap.ALLOW, Overlap.SKIP):
        return False
    lateness = (now - max(run.due, run.not_before)) * MILLISECOND
    return lateness >= policy.resolution and lateness > policy.deadline


def _start_run(draft: PlanBuilder, run: Run) -> None:
    """Launch a run. It supersedes the retries of older periods if the policy keeps one period at a time."""
    waiting = [other for other in draft.runs.values() if other.state is State.WAITING and other.key != run.key]
    if waiting:
        for other in _superseded_retries(draft, run, sorted(waiting, key=lambda other: other.nominal)):
            draft.set_run(ended(other, State.FAILED, draft.now))
    draft.set_run(claimed(run, draft.owner, draft.lease, draft.now))


def _superseded_retries(draft: PlanBuilder, run: Run, waiting: list[Run]) -> list[Run]:
    """Return the failed runs that do not run again because a newer period starts; `waiting` is oldest first.

    Under `allow` and `queue` every period counts: their retries stay, as many as can wait in the queue. A requested run
    supersedes nothing.
    """
    if run.trigger:
        return []
    if draft.state.policy.overlap in (Overlap.ALLOW, Overlap.QUEUE):
        return waiting[: max(0, len(waiting) - draft.state.policy.queue_limit)]
    return [other for other in waiting if other.nominal < run.nominal]


def _replace_active_runs(draft: PlanBuilder, run: Run, active: list[Run]) -> None:
    """End active runs in favor of this one.

    A run that is being launched cannot be ended: the newest run waits for its launch result.
    """
    recorded_keys = {other.key for other in draft.state.open_runs}
    for other in active:
        if other.key not in recorded_keys:  # claimed in this pass, and not sent yet
            unsent = other._replace(attempt=0, owner="", sent=0)
            draft.set_run(ended(unsent, State.SKIPPED, draft.now, Outcome.SKIPPED, Reason.REPLACED))
        elif other.state in RUNNING:
            draft.cancels.append(other)
            draft.set_run(ended(other, State.CANCELLED, draft.now, Outcome.EXECUTED, Reason.REPLACED))
    for other in list(draft.runs.values()):
        is_older = other.state is State.PENDING and other.not_before <= draft.now and other.nominal < run.nominal
        if is_older and overlap_of(other, draft.state.policy) is Overlap.REPLACE:
            draft.set_run(ended(other, State.SKIPPED, draft.now, Outcome.SKIPPED, Reason.REPLACED))
    if not any(other.active for other in draft.runs.values()):
        _start_run(draft, run)


def _queue_run(draft: PlanBuilder, run: Run) -> None:
    waiting_runs = [other for other in draft.runs.values() if other.state is State.PENDING and not other.trigger]
    is_new = all(other.key != run.key for other in draft.state.open_runs)
    if is_new and len(waiting_runs) > draft.state.policy.queue_limit:
        draft.set_run(ended(run, State.SKIPPED, draft.now, Outcome.SKIPPED, Reason.QUEUE_OVERFLOW))


def _coalesce_older_runs(draft: PlanBuilder, run: Run) -> None:
    for other in list(draft.runs.values()):
        is_older = other.state is State.PENDING and other.nominal < run.nominal
        if is_older and overlap_of(other, draft.state.policy) is Overlap.COALESCE:
            draft.set_run(ended(other, State.MISSED, draft.now, Outcome.MISSED, Reason.COALESCED))
