"""Overlap: what a period whose time has come does while an earlier one may be running."""

from __future__ import annotations

from kron.core.draft import Draft
from kron.core.outcome import Reason, Verdict
from kron.core.policy import MILLISECOND, Overlap, Policy
from kron.core.run import RUNNING, Run, State, claimed, ended, overlap_of


def start_pending(draft: Draft, *, asked: bool = False) -> None:
    """Start, skip or leave waiting every pending run whose time has come, oldest first.

    Where one stands for all, it is the newest. `asked`: only the runs that were asked for, as during a pause.
    """
    for run in _ready(draft):
        if asked and not run.trigger:
            continue
        if draft.runs[run.key] is run:  # and has not given way to another meanwhile
            _trigger(draft, run)


def _ready(draft: Draft) -> list[Run]:
    pending = [run for run in draft.runs.values() if run.state is State.PENDING and run.not_before <= draft.now]
    newest_first = draft.case.policy.overlap is Overlap.COALESCE
    return sorted(pending, key=lambda run: (max(run.not_before, run.due), run.nominal, run.key), reverse=newest_first)


def _trigger(draft: Draft, run: Run) -> None:
    active = [other for other in draft.runs.values() if other.active]
    overlap = overlap_of(run, draft.case.policy)
    if _overdue(run, draft.case.job_of(run).schedule.policy, draft.now):
        draft.put(ended(run, State.MISSED, draft.now, Verdict.MISSED, Reason.DEADLINE))
    elif overlap is Overlap.COALESCE:
        _coalesce(draft, run)
        if not active:
            _start(draft, run)
    elif not active or overlap is Overlap.ALLOW:
        _start(draft, run)
    elif overlap is Overlap.SKIP:
        draft.put(ended(run, State.SKIPPED, draft.now, Verdict.SKIPPED, Reason.OVERLAP))
    elif overlap is Overlap.REPLACE:
        _replace(draft, run, active)
    else:
        _queue(draft, run)


def _overdue(run: Run, policy: Policy, now: int) -> bool:
    """Whether nobody came for it in time. What the policy itself lets wait is not overdue."""
    if policy.deadline is None or run.trigger or policy.overlap not in (Overlap.ALLOW, Overlap.SKIP):
        return False
    late = (now - max(run.due, run.not_before)) * MILLISECOND
    return late >= policy.resolution and late > policy.deadline


def _start(draft: Draft, run: Run) -> None:
    for other in list(draft.runs.values()):
        if other.state is State.WAITING and other.key != run.key:  # a newer period supersedes a retry
            draft.put(ended(other, State.FAILED, draft.now))
    draft.put(claimed(run, draft.owner, draft.lease, draft.now))


def _replace(draft: Draft, run: Run, active: list[Run]) -> None:
    """End what runs in favour of this one. What is being sent cannot be ended: the newest waits for its answer."""
    begun = {other.key for other in draft.case.open}
    for other in active:
        if other.key not in begun:  # claimed in this very pass, and not sent yet
            unsent = other._replace(attempt=0, owner="", sent=0)
            draft.put(ended(unsent, State.SKIPPED, draft.now, Verdict.SKIPPED, Reason.REPLACED))
        elif other.state in RUNNING:
            draft.cancels.append(other)
            draft.put(ended(other, State.CANCELLED, draft.now, Verdict.EXECUTED, Reason.REPLACED))
    for other in list(draft.runs.values()):
        older = other.state is State.PENDING and other.not_before <= draft.now and other.nominal < run.nominal
        if older and overlap_of(other, draft.case.policy) is Overlap.REPLACE:
            draft.put(ended(other, State.SKIPPED, draft.now, Verdict.SKIPPED, Reason.REPLACED))
    if not any(other.active for other in draft.runs.values()):
        _start(draft, run)


def _queue(draft: Draft, run: Run) -> None:
    waiting = [other for other in draft.runs.values() if other.state is State.PENDING and not other.trigger]
    fresh = all(other.key != run.key for other in draft.case.open)
    if fresh and len(waiting) > draft.case.policy.queue_bound:
        draft.put(ended(run, State.SKIPPED, draft.now, Verdict.SKIPPED, Reason.QUEUE_OVERFLOW))


def _coalesce(draft: Draft, run: Run) -> None:
    for other in list(draft.runs.values()):
        older = other.state is State.PENDING and other.nominal < run.nominal
        if older and overlap_of(other, draft.case.policy) is Overlap.COALESCE:
            draft.put(ended(other, State.MISSED, draft.now, Verdict.MISSED, Reason.COALESCED))
