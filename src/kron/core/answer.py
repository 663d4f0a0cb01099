"""Answers: what a launcher or a target said, and what becomes of the run."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple
from zlib import crc32

from kron.core.outcome import Reason, Verdict
from kron.core.policy import MILLISECOND, Completion, Interrupted, Overlap, Policy
from kron.core.run import ACTIVE, RUNNING, Run, State, ended

LONGEST_PATIENCE = 3_600_000  # milliseconds: whatever a target asks for, a run does not wait longer
LAST_CHANCE = 250  # milliseconds before the deadline: the last attempt, if the next one would come after it
LONGEST_BACKOFF = 60_000  # milliseconds between two attempts, where the target asks for nothing


class Answer(StrEnum):
    """What came of sending a run."""

    OK = "ok"  # the target has it, now or from an earlier attempt
    REJECTED = "rejected"  # it never will
    RETRYABLE = "retryable"  # it has it not, and may another time
    UNKNOWN = "unknown"  # nobody knows
    UNSENT = "unsent"  # certainly nothing was sent, and the target has no part in that


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
    if answer is Answer.UNSENT:
        return run._replace(
            state=State.RETRY, not_before=now + patience, lease=None, changed=now, unsent=run.unsent + 1
        )
    if answer is Answer.REJECTED:
        return failed_launch(_refused(run), now)
    if answer is Answer.UNKNOWN and policy.interrupted is Interrupted.LOST:
        return ended(run, State.UNKNOWN, now, Verdict.EXECUTED, Reason.UNKNOWN)
    run = _refused(run) if answer is Answer.RETRYABLE else run._replace(doubt=True)
    again = _next_attempt(run, policy, now, min(patience, LONGEST_PATIENCE))
    if again is None:
        return failed_launch(run, now)
    return run._replace(state=State.RETRY, not_before=again, lease=None, changed=now)


def _next_attempt(run: Run, policy: Policy, now: int, patience: int) -> int | None:
    """When the next attempt is made: up to the deadline, and without one for a stated time; None if there is none."""
    again = now + max(backoff(run, policy), patience)
    if run.verdict is not None:  # it has run before, and is to run again
        return again
    if policy.deadline is None:
        return None if tried_for_long(run, policy, again) else again
    last = last_launch(run, policy)
    if again <= last:
        return again
    return None if patience or last - now < 2 * LAST_CHANCE else last - LAST_CHANCE


def last_launch(run: Run, policy: Policy) -> int:
    """The last millisecond at which an attempt may be made, where the policy has a deadline."""
    return run.due + max(policy.deadline or 0, policy.resolution) // MILLISECOND


def tried_for_long(run: Run, policy: Policy, now: int) -> bool:
    """Whether a launch without a deadline was tried for as long as it is to be: by the clock, and by its attempts."""
    most = policy.launch_for // MILLISECOND
    return now - max(run.due, run.created) > most and _waited(run, policy) >= most


def _waited(run: Run, policy: Policy) -> int:
    """Total backoff of the attempts so far in milliseconds, without jitter. Withheld attempts do not count."""
    first = max(1, policy.launch_backoff // MILLISECOND)
    return sum(min(max(first, LONGEST_BACKOFF), first << min(n, 20)) for n in range(min(run.tries, 1_000)))


def _refused(run: Run) -> Run:
    """The run after its target has refused it: while it waits for the next attempt, the reason says so."""
    return run if run.verdict is not None else run._replace(reason=Reason.LAUNCH_FAILED)


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
        return run._replace(state=State.WAITING, reason=Reason.FAILED, not_before=at, lease=None, changed=now)
    return ended(run, State.FAILED, now, reason=Reason.FAILED)


def look_after(run: Run, policy: Policy, now: int) -> int:
    """When its schedule is to be looked at after a run has changed: at once, if another may take its place."""
    if not run.active or (run.state in RUNNING and policy.overlap is Overlap.REPLACE):
        return now
    return run.not_before if run.lease is None else run.lease


def failed_launch(run: Run, now: int) -> Run:
    """The end of a run that could not be started in time.

    If an attempt may have arrived all the same, the outcome is unknown. If no target has refused it, it was late.
    """
    if run.verdict is not None:  # it has run before
        return ended(run, State.FAILED, now, reason=Reason.LAUNCH_FAILED)
    if run.doubt:
        return ended(run, State.UNKNOWN, now, Verdict.EXECUTED, Reason.UNKNOWN)
    if run.reason is not Reason.LAUNCH_FAILED:
        return ended(run, State.MISSED, now, Verdict.MISSED, Reason.DEADLINE)
    return ended(run, State.FAILED, now, Verdict.MISSED, Reason.LAUNCH_FAILED)


def backoff(run: Run, policy: Policy) -> int:
    """How many milliseconds to wait before the next attempt: doubled each time, up to a minute, less some jitter.

    The attempts of a run that has run before are restarts as well as refusals: then it is up to half a minute. The
    jitter follows from the key and the attempt, so that runs that were refused together do not come back together.
    """
    first = policy.launch_backoff // MILLISECOND
    most = max(first, LONGEST_BACKOFF if run.verdict is None else LONGEST_BACKOFF // 2)
    wait = min(most, first << min(run.tries - 1, 20))
    return wait - wait * (crc32(f"{run.key}:{run.attempt}".encode()) % 256) // 1024
