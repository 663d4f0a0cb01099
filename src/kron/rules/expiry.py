"""Expiry: open runs whose lease, time limit or waiting time has ended.

No run stays open permanently. A run that may have been executed counts as executed.
"""

from __future__ import annotations

from kron.rules.attempt import lost_attempt, timed_out_attempt
from kron.rules.draft import PlanBuilder
from kron.rules.launch_result import failed_launch, failed_run, last_launch, tried_for_long, was_last_launch
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run, claimed, ended, exclusive, is_at_limit
from kron.rules.run_state import RUNNING, State
from kron.timing.schedule.policy import Policy, WorkerLossPolicy


def handle_expired_runs(draft: PlanBuilder) -> None:
    """Handle every open run whose lease or time limit has expired, and claim the runs whose next attempt is due."""
    for run in draft.state.open_runs:
        is_launching = run.state is State.LAUNCHING
        if has_timed_out(run, draft.now):
            draft.cancels.append(run)
            draft.attempts.append((run, timed_out_attempt(run, draft.now)))
            draft.set_run(failed_run(run, _policy_of(run, draft), draft.now, Reason.TIMEOUT))
        elif (is_launching or run.state in RUNNING) and _lease_expired(run, draft):
            draft.attempts.append((run, lost_attempt(run, draft.now)))
            draft.set_run(_unacknowledged(run, draft) if is_launching else _silent(run, draft))
    for run in list(draft.runs.values()):
        if run.state is State.RETRY and run.not_before <= draft.now:
            draft.set_run(_claimed_again(run, draft))


def has_timed_out(run: Run, now: int) -> bool:
    """Return whether a run has reached its time limit, and its lease had not expired before."""
    if run.ends_by is None or run.ends_by > now or run.state not in RUNNING:
        return False
    return run.lease is None or run.ends_by <= run.lease


def retry_failed(draft: PlanBuilder) -> None:
    """Claim every failed run whose retry delay has passed, unless active runs exclude it."""
    for run in list(draft.runs.values()):
        active_count = sum(other.active for other in draft.runs.values())
        can_start = not active_count or not (
            exclusive(run, draft.state.policy) or is_at_limit(run, draft.state.policy, active_count)
        )
        if run.state is State.WAITING and run.not_before <= draft.now and can_start:
            draft.set_run(claimed(run, draft.owner, draft.lease, draft.now))


def _given_up(run: Run, policy: Policy, now: int) -> bool:
    """Return whether no further attempt is made.

    Without a deadline, only an attempt that failed can have been the last one.
    """
    return policy.deadline is not None and now > last_launch(run, policy)


def _policy_of(run: Run, draft: PlanBuilder) -> Policy:
    return draft.state.job_of(run).schedule.policy


def _lease_expired(run: Run, draft: PlanBuilder) -> bool:
    return run.lease is not None and run.lease <= draft.now


def _unacknowledged(run: Run, draft: PlanBuilder) -> Run:
    """Return the next state of a launch whose worker stopped reporting.

    The run may have been sent. It is launched again, for a bounded time and number of attempts.
    """
    policy = _policy_of(run, draft)
    gave_up = run.outcome is None and policy.deadline is None and tried_for_long(run, policy, draft.now)
    if (
        policy.on_worker_loss is WorkerLossPolicy.LOST
        or (gave_up and policy.on_worker_loss is not WorkerLossPolicy.RESTART)
        or was_last_launch(run, policy)
    ):
        return ended(run, State.UNKNOWN, draft.now, Outcome.EXECUTED, Reason.UNKNOWN)
    return run._replace(state=State.RETRY, maybe_delivered=True, not_before=draft.now, lease=None, changed=draft.now)


def _silent(run: Run, draft: PlanBuilder) -> Run:
    """Return the next state of a run whose lease expired without a report."""
    if _policy_of(run, draft).on_worker_loss is WorkerLossPolicy.RESTART:
        return run._replace(
            state=State.RETRY, maybe_delivered=True, not_before=draft.now, lease=None, changed=draft.now
        )
    return ended(run, State.LOST, draft.now, reason=Reason.SILENT)


def _claimed_again(run: Run, draft: PlanBuilder) -> Run:
    """Return the run claimed for its next attempt, or ended if no further attempt is made."""
    policy = _policy_of(run, draft)
    if run.outcome is None and _given_up(run, policy, draft.now):
        return failed_launch(run, draft.now)
    return claimed(run, draft.owner, draft.lease, draft.now)
