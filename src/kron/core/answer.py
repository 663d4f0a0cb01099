"""Answers: what a launcher or a target said, and what becomes of the run."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kron.core.outcome import Reason, Verdict
from kron.core.policy import MILLISECOND, Completion, Interrupted, Overlap, Policy
from kron.core.run import ACTIVE, RUNNING, Run, State, ended

LONGEST_PATIENCE = 3_600_000  # milliseconds: whatever a target asks for, a run does not wait longer


class Answer(StrEnum):
    """What came of sending a run."""

    OK = "ok"  # the target has it, now or from an earlier attempt
    REJECTED = "rejected"  # it never will
    RETRYABLE = "retryable"  # it has it not, and may another time
    UNKNOWN = "unknown"  # nobody knows


class Report(StrEnum):
    """What a target says of a run that it has."""

    STARTED = "started"  # or: is still going
    SUCCESS = "success"
    FAILED = "failed"


class Receipt(NamedTuple):
    """An answer with what came along: how long to wait before the next attempt, what the target calls the run, and what
    it says of it at once. What is over already and reported by its launcher has an end that tells of its start, too."""

    answer: Answer
    patience: int = 0  # milliseconds
    run_id: str = ""
    report: Report | None = None
    over: bool = False


def answered(
    run: Run, answer: Answer, policy: Policy, now: int, patience: int = 0, report: Report | None = None
) -> Run:
    """The run after its launcher has answered. A target may ask for patience; beyond the deadline there is none.

    `report` is what the answer says of the run itself. A target that says `started` reports the end later.
    """
    if answer is Answer.OK:
        return _accepted(run, policy, now, report)
    if answer is Answer.REJECTED:
        return failed_launch(run, now)
    if answer is Answer.UNKNOWN and policy.interrupted is Interrupted.LOST:
        return ended(run, State.UNKNOWN, now, Verdict.EXECUTED, Reason.UNKNOWN)
    if run.attempt >= policy.launch_tries and answer is Answer.RETRYABLE:
        return failed_launch(run, now)
    again = now + max(backoff(run, policy), min(patience, LONGEST_PATIENCE))
    if patience and policy.deadline is not None and (again - run.due) * MILLISECOND > policy.deadline:
        return failed_launch(run, now)
    doubt = run.doubt or answer is Answer.UNKNOWN
    return run._replace(state=State.RETRY, doubt=doubt, not_before=again, lease=None, changed=now)


def _accepted(run: Run, policy: Policy, now: int, report: Report | None) -> Run:
    """The run that its target has: finished where no report is expected, else under a lease until one comes."""
    if report is None and policy.completion is Completion.ACCEPTED:
        return ended(run._replace(reason=None), State.SUCCESS, now, Verdict.EXECUTED)
    lease = now + policy.run_lease // MILLISECOND
    taken = run._replace(state=State.ENQUEUED, verdict=Verdict.EXECUTED, reason=None, lease=lease, changed=now)
    return taken if report is None else reported(taken, report, policy, now, run.attempt) or taken


def reported(run: Run, report: Report, policy: Policy, now: int, attempt: int | None = None) -> Run | None:
    """The run after its target has reported of an attempt; None if the report comes too late to count."""
    if run.state not in ACTIVE or (run.state not in RUNNING and report is Report.STARTED):
        return None
    if report is not Report.SUCCESS and run.verdict is not None and attempt is not None and attempt < run.attempt:
        return None  # it ran again since, and this is an echo
    run = run._replace(verdict=Verdict.EXECUTED, reason=None)
    if report is Report.STARTED:
        return run._replace(state=State.STARTED, lease=now + policy.run_lease // MILLISECOND, changed=now)
    if report is Report.SUCCESS:
        return ended(run, State.SUCCESS, now)
    if policy.retry_after is not None:
        at = now + policy.retry_after // MILLISECOND
        return run._replace(state=State.WAITING, not_before=at, lease=None, changed=now)
    return ended(run, State.FAILED, now)


def look_after(run: Run, policy: Policy, now: int) -> int:
    """When its schedule is to be looked at after a run has changed: at once, if another may take its place."""
    if not run.active or (run.state in RUNNING and policy.overlap is Overlap.REPLACE):
        return now
    return run.not_before if run.lease is None else run.lease


def failed_launch(run: Run, now: int) -> Run:
    """The end of a run that could not be started; if an attempt may have arrived all the same, nobody knows."""
    if run.verdict is not None:  # it has run before
        return ended(run, State.FAILED, now)
    if run.doubt:
        return ended(run, State.UNKNOWN, now, Verdict.EXECUTED, Reason.UNKNOWN)
    return ended(run, State.FAILED, now, Verdict.MISSED, Reason.LAUNCH_FAILED)


def backoff(run: Run, policy: Policy) -> int:
    """How many milliseconds to wait before the next attempt: doubled each time, up to ten minutes.

    The attempts of a run that has run before are restarts as well as refusals: then it is up to half a minute.
    """
    first = policy.launch_backoff // MILLISECOND
    most = 600_000 if run.verdict is None else max(30_000, first)
    return min(most, first << min(run.attempt - 1, 20))
