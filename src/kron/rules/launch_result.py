"""Launch results: what a launcher or a target reported, and the resulting state of the run."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kron.rules.delay import launch_delay, retry_delay, total_launch_delay
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run, ended
from kron.rules.run_state import ACTIVE, RUNNING, State
from kron.timing.schedule.policy import MILLISECOND, Completion, Overlap, Policy, WorkerLossPolicy

MAX_RETRY_AFTER_MS = 3_600_000  # milliseconds: upper limit of the delay that a target can request
LAST_ATTEMPT_MARGIN_MS = 250  # milliseconds before the deadline: last attempt, if the next would be too late


class LaunchResult(StrEnum):
    """Result of one launch attempt."""

    OK = "ok"  # the target has accepted the run, now or in an earlier attempt
    REJECTED = "rejected"  # the target will never accept the run
    RETRYABLE = "retryable"  # the target has not accepted the run, and may accept it later
    UNKNOWN = "unknown"  # Kron cannot know whether the run arrived
    UNSENT = "unsent"  # certainly nothing was sent, and the target did not cause this
    SHADOW = "shadow"  # certainly nothing was sent, and nothing will be: the launcher only records the run


class Report(StrEnum):
    """Report of a target on a run that it has accepted."""

    STARTED = "started"  # also: is still in progress
    SUCCESS = "success"
    FAILED = "failed"
    LOST = "lost"  # it has started, and nothing is left that could tell how it ended


class LaunchResponse(NamedTuple):
    """Launch result with the details that came with it.

    A run that is over already, and whose launcher reports its end itself, has `over` set: the report of the end also
    tells that the run started.
    """

    result: LaunchResult
    retry_after_ms: int = 0  # milliseconds
    run_id: str = ""  # the target's name for the run
    report: Report | None = None
    over: bool = False
    code: int | None = None  # HTTP status or exit status
    excerpt: str = ""  # beginning of the response, or the cause of a failure; see `excerpt_of`


def answered(
    run: Run, result: LaunchResult, policy: Policy, now: int, min_delay: int = 0, report: Report | None = None
) -> Run:
    """Return the run after its launcher has answered.

    Args:
        run: The run that was launched.
        result: Result of the attempt.
        policy: Policy of the revision under which the run was recorded.
        now: Current time in milliseconds.
        min_delay: Minimum milliseconds to wait before the next attempt, as requested by the target. The deadline still
            applies.
        report: What the answer says about the run itself. A target that answers `started` reports the end later.
    """
    if result is LaunchResult.OK:
        return _accepted(run, policy, now, report)
    if result is LaunchResult.UNSENT:
        return run._replace(
            state=State.RETRY, not_before=now + min_delay, lease=None, changed=now, unsent=run.unsent + 1
        )
    if result in (LaunchResult.REJECTED, LaunchResult.SHADOW):
        is_shadow = result is LaunchResult.SHADOW
        return _shadowed(run, now) if is_shadow else failed_launch(_rejected(run), now)
    if result is LaunchResult.UNKNOWN and policy.on_worker_loss is WorkerLossPolicy.LOST:
        return ended(run, State.UNKNOWN, now, Outcome.EXECUTED, Reason.UNKNOWN)
    run = _rejected(run) if result is LaunchResult.RETRYABLE else run._replace(maybe_delivered=True)
    retry_at = _next_attempt(run, policy, now, min(min_delay, MAX_RETRY_AFTER_MS))
    if retry_at is None:
        return failed_launch(run, now)
    return run._replace(state=State.RETRY, not_before=retry_at, lease=None, changed=now)


def _next_attempt(run: Run, policy: Policy, now: int, min_delay: int) -> int | None:
    """Return when the next attempt is made; None if there is none.

    Attempts are made up to the deadline, and without a deadline for the time that the policy states. The policy can
    limit their number, too.
    """
    if was_last_launch(run, policy):
        return None
    retry_at = now + max(launch_delay(run, policy), min_delay)
    if run.outcome is not None:  # the run was executed before, and is to run again
        return retry_at
    if policy.deadline is None:
        return None if tried_for_long(run, policy, retry_at) else retry_at
    last_at = last_launch(run, policy)
    if retry_at <= last_at:
        return retry_at
    return None if min_delay or last_at - now < 2 * LAST_ATTEMPT_MARGIN_MS else last_at - LAST_ATTEMPT_MARGIN_MS


def was_last_launch(run: Run, policy: Policy) -> bool:
    """Return whether the policy limits the attempts of a launch, and the last one was made."""
    return policy.launch_attempts is not None and run.launch_tries >= policy.launch_attempts


def last_launch(run: Run, policy: Policy) -> int:
    """Return the last millisecond at which an attempt may be made, where the policy has a deadline."""
    return latest_claim(run.due, policy)


def latest_claim(due: int, policy: Policy) -> int:
    """Return the last millisecond at which a worker may claim a run, where the policy has a deadline."""
    return due + max(policy.deadline or 0, policy.resolution) // MILLISECOND


def tried_for_long(run: Run, policy: Policy, now: int) -> bool:
    """Return whether Kron stops retrying a launch without a deadline.

    Both the elapsed time and the total backoff of the attempts must have reached the policy's limit.
    """
    limit = policy.launch_for // MILLISECOND
    return now - max(run.due, run.created) > limit and total_launch_delay(run, policy) >= limit


def _rejected(run: Run) -> Run:
    """Return the run after its target rejected it. The reason records this while the run waits for the next attempt."""
    return run if run.outcome is not None else run._replace(reason=Reason.LAUNCH_FAILED)


def _shadowed(run: Run, now: int) -> Run:
    """Return the end of a run that was only recorded. An outcome of an earlier attempt stays."""
    return ended(run, State.SKIPPED, now, Outcome.SKIPPED, Reason.SHADOW)


def _accepted(run: Run, policy: Policy, now: int, report: Report | None) -> Run:
    """Return an acknowledged run: finished where no report is expected, otherwise leased until a report arrives."""
    run = run._replace(reason=None, launched=run.tries, maybe_delivered=False)
    if report is None and policy.completion is Completion.ACCEPTED:
        return ended(run, State.SUCCESS, now, Outcome.EXECUTED)
    ends_by = None if policy.timeout is None else now + policy.timeout // MILLISECOND
    lease = now + policy.run_lease // MILLISECOND
    accepted = run._replace(state=State.ENQUEUED, outcome=Outcome.EXECUTED, lease=lease, ends_by=ends_by, changed=now)
    return accepted if report is None else reported(accepted, report, policy, now, run.attempt) or accepted


def end_of(run: Run, ended_at: int | None, now: int) -> int:
    """Return when an execution ended: not before its run was last seen active, and not after now, in milliseconds.

    Args:
        run: The run before the end is recorded.
        ended_at: When the execution ended by another clock; None: now.
        now: Current time.
    """
    return now if ended_at is None else min(now, max(ended_at, run.changed))


def reported(
    run: Run, report: Report, policy: Policy, now: int, attempt: int | None = None, end: int | None = None
) -> Run | None:
    """Return the run after its target reported on an attempt; None if the report is too late to count.

    `end` is when the execution ended, if this is known. A retry is due after `now`. A run is lost only after its target
    has accepted it: before that, a missing execution says nothing.
    """
    if run.state not in ACTIVE or (run.state not in RUNNING and report in (Report.STARTED, Report.LOST)):
        return None
    is_old = run.outcome is not None and attempt is not None and attempt < run.attempt
    if is_old and (report is not Report.SUCCESS or (run.failures and policy.timeout is not None)):
        return None  # a later attempt ran since: this report is about an older one, which may have timed out
    run = run._replace(outcome=Outcome.EXECUTED, reason=None, launched=run.tries, maybe_delivered=False)
    if report is Report.STARTED:
        return run._replace(state=State.STARTED, lease=now + policy.run_lease // MILLISECOND, changed=now)
    after = _end_of_run(run, report, policy, now)
    return after if end is None or after.open else after._replace(changed=end)


def _end_of_run(run: Run, report: Report, policy: Policy, now: int) -> Run:
    if report is Report.LOST and policy.on_worker_loss is WorkerLossPolicy.RESTART:
        return run._replace(state=State.STARTED, lease=now, changed=now)  # the next check launches it again
    if report is Report.LOST:
        return ended(run, State.LOST, now, reason=Reason.SILENT)
    return ended(run, State.SUCCESS, now) if report is Report.SUCCESS else failed_run(run, policy, now, Reason.FAILED)


def failed_run(run: Run, policy: Policy, now: int, reason: Reason) -> Run:
    """Return the run after an execution failed: it waits for its next retry, or has ended after the last one."""
    run = run._replace(failures=run.failures + 1)
    if policy.retry_after is None or not has_retry(run, policy):
        return ended(run, State.FAILED, now, reason=reason)
    retry_at = now + retry_delay(run, policy, policy.retry_after // MILLISECOND)
    return run._replace(state=State.WAITING, reason=reason, not_before=retry_at, lease=None, changed=now)


def has_retry(run: Run, policy: Policy) -> bool:
    """Return whether the policy allows another execution of a run that has failed."""
    is_last = policy.retry_attempts is not None and run.failures > policy.retry_attempts
    return policy.retry_after is not None and not is_last


def next_check_after(run: Run, policy: Policy, now: int) -> int:
    """Return when a worker must check the schedule after a run has changed, in milliseconds.

    This is `now` if another run can take the place of this one.
    """
    if not run.active or (run.state in RUNNING and policy.overlap is Overlap.REPLACE):
        return now
    return run.not_before if run.lease is None else earlier(run.lease, run.ends_by)


def earlier(lease: int, ends_by: int | None) -> int:
    """Return the end of a lease, or the earlier time at which the run times out."""
    return lease if ends_by is None else min(lease, ends_by)


def failed_launch(run: Run, now: int) -> Run:
    """Return the end of a run that could not be launched in time.

    If an attempt may have arrived, the outcome is unknown. If no target rejected the run, the deadline was exceeded.
    """
    if run.maybe_delivered:
        return ended(run, State.UNKNOWN, now, Outcome.EXECUTED, Reason.UNKNOWN)
    if run.outcome is not None:  # the run was executed before
        return ended(run, State.FAILED, now, reason=Reason.LAUNCH_FAILED)
    if run.reason is not Reason.LAUNCH_FAILED:
        return ended(run, State.MISSED, now, Outcome.MISSED, Reason.DEADLINE)
    return ended(run, State.FAILED, now, Outcome.MISSED, Reason.LAUNCH_FAILED)
