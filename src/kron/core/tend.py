"""Tending: open runs whose time is up. Nothing stays open for ever, and what may have run counts as running."""

from __future__ import annotations

from kron.core.answer import failed_launch, last_launch, tried_for_long
from kron.core.draft import Draft
from kron.core.outcome import Reason, Verdict
from kron.core.policy import Interrupted, Policy
from kron.core.run import RUNNING, Run, State, claimed, ended, exclusive


def tend(draft: Draft) -> None:
    """Look after every open run."""
    for run in draft.case.open:
        if run.state is State.LAUNCHING and _over(run, draft):
            draft.put(_unacknowledged(run, draft))
        elif run.state in RUNNING and _over(run, draft):
            draft.put(_silent(run, draft))
    for run in list(draft.runs.values()):
        if run.state is State.RETRY and run.not_before <= draft.now:
            draft.put(_again(run, draft))


def retry_failed(draft: Draft) -> None:
    """Let every failed run whose time has come run again, where no newer period has taken its place."""
    for run in list(draft.runs.values()):
        alone = not exclusive(run, draft.case.policy) or not any(other.active for other in draft.runs.values())
        if run.state is State.WAITING and run.not_before <= draft.now and alone:
            draft.put(claimed(run, draft.owner, draft.lease, draft.now))


def _given_up(run: Run, policy: Policy, now: int) -> bool:
    """Whether no further attempt is made. Without a deadline, only an attempt that failed can have been the last."""
    return policy.deadline is not None and now > last_launch(run, policy)


def _policy(run: Run, draft: Draft) -> Policy:
    return draft.case.job_of(run).schedule.policy


def _over(run: Run, draft: Draft) -> bool:
    return run.lease is not None and run.lease <= draft.now


def _unacknowledged(run: Run, draft: Draft) -> Run:
    """A start whose worker fell silent: it may have been sent. It is sent again, for a bounded time."""
    policy = _policy(run, draft)
    over = run.verdict is None and policy.deadline is None and tried_for_long(run, policy, draft.now)
    if policy.interrupted is Interrupted.LOST or (over and policy.interrupted is not Interrupted.RESTART):
        return ended(run, State.UNKNOWN, draft.now, Verdict.EXECUTED, Reason.UNKNOWN)
    return run._replace(state=State.RETRY, doubt=True, not_before=draft.now, lease=None, changed=draft.now)


def _silent(run: Run, draft: Draft) -> Run:
    """A run that has not been heard of for the length of its lease."""
    if _policy(run, draft).interrupted is Interrupted.RESTART:
        return run._replace(state=State.RETRY, not_before=draft.now, lease=None, changed=draft.now)
    return ended(run, State.LOST, draft.now, reason=Reason.SILENT)


def _again(run: Run, draft: Draft) -> Run:
    """The next attempt, if there is to be one."""
    policy = _policy(run, draft)
    if run.verdict is None and _given_up(run, policy, draft.now):
        return failed_launch(run, draft.now)
    return claimed(run, draft.owner, draft.lease, draft.now)
