"""Attempts: why an attempt to launch or to execute a run did not succeed.

An attempt that is accepted, or succeeds, is recorded only if an earlier attempt may have been sent. So the list of a
run is complete once something went wrong, and an ordinary run has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from kron.rules.excerpt import excerpt_of
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.rules.run_state import State

MAX_ATTEMPTS_PER_RUN = 50  # the newest are kept
_MAX_CODE = 1 << 31


class AttemptResult(StrEnum):
    """Last known result of an attempt: a launch result, or the end of the execution."""

    OK = "ok"  # accepted by the target, which has not reported the end
    REJECTED = "rejected"
    RETRYABLE = "retryable"
    UNKNOWN = "unknown"
    UNSENT = "unsent"
    SUCCESS = "success"  # reported by the target
    FAILED = "failed"  # reported by the target
    LOST = "lost"  # no result was recorded before the lease ended


class Attempt(NamedTuple):
    """Record of one attempt of a run. The last result of an attempt replaces an earlier one."""

    number: int  # from 1
    at: int  # milliseconds: when the attempt was sent; when it was claimed, if only this is known
    duration: int  # milliseconds until the result was known
    result: AttemptResult
    code: int | None = None  # HTTP status or exit status
    excerpt: str = ""  # at most 200 characters: beginning of the response, exception, or cause

    @property
    def slot(self) -> int:
        """Position in the list of a run, from 0 to 49: an attempt replaces the one that is 50 attempts older."""
        return (self.number - 1) % MAX_ATTEMPTS_PER_RUN


def last_error(attempts: Sequence[Attempt]) -> str | None:
    """Return the text of the last attempt that failed, of attempts that are oldest first; None without one."""
    failed = (each for each in reversed(attempts) if each.result not in (AttemptResult.OK, AttemptResult.SUCCESS))
    return next((each.excerpt for each in failed if each.excerpt), None)


def without_worker_names(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return attempts as a tenant may see them: the cause of a lost attempt names a worker, which others share."""
    return tuple(each._replace(excerpt="") if each.result is AttemptResult.LOST else each for each in attempts)


def launched_attempt(run: Run, response: LaunchResponse, at: int, duration: int) -> Attempt | None:
    """Return the record of an attempt after its launcher has answered; None if it is not worth one.

    Args:
        run: The run as it was claimed.
        response: The answer.
        at: Milliseconds: when the attempt was sent.
        duration: Milliseconds until the answer.
    """
    is_ok = response.result is LaunchResult.OK
    if is_ok and response.report is not Report.FAILED and run.tries == 1:  # almost every attempt
        return None
    if response.result is LaunchResult.UNSENT and not response.excerpt:
        return None  # withheld by its worker: the run counts these attempts
    if response.result is LaunchResult.SHADOW:
        return None  # the reason of the run says it
    end = response.report if is_ok and response.report is not Report.STARTED else None
    result = AttemptResult(end or response.result)
    return _attempt(run.attempt, at, duration, result, response.code, response.excerpt)


def reported_attempt(
    run: Run, report: Report, now: int, number: int | None = None, code: int | None = None, excerpt: str = ""
) -> Attempt | None:
    """Return the record of an attempt after its target has reported; None if it is not worth one.

    Args:
        run: The run before the report.
        report: The report.
        now: Milliseconds: when the report is recorded, or when the execution ended.
        number: Attempt that the report is about; None for the last one. An older one is recorded already.
        code: Exit status, if there is one.
        excerpt: Error text.
    """
    is_worth_one = report in (Report.FAILED, Report.LOST) or (report is Report.SUCCESS and run.tries > 1)
    if not is_worth_one or number not in (None, run.attempt):
        return None
    return _attempt(run.attempt, run.sent, now - run.sent, AttemptResult(report), code, excerpt)


def lost_attempt(run: Run, now: int, cause: str = "") -> Attempt:
    """Return the record of an attempt without a result. Without a cause, its lease has ended."""
    lease_cause = (
        f"worker {run.owner} recorded no result before its claim ended"
        if run.state is State.LAUNCHING
        else f"no report arrived before the run lease ended; launched by worker {run.owner}"
    )
    return _attempt(run.attempt, run.sent, now - run.sent, AttemptResult.LOST, None, cause or lease_cause)


def timed_out_attempt(run: Run, now: int) -> Attempt:
    """Return the record of an attempt that had not ended at its time limit."""
    return _attempt(run.attempt, run.sent, now - run.sent, AttemptResult.FAILED, None, "its time limit has passed")


def _attempt(number: int, at: int, duration: int, result: AttemptResult, code: int | None, excerpt: str) -> Attempt:
    """Return an attempt with values that every store accepts."""
    is_storable = code is not None and -_MAX_CODE <= code < _MAX_CODE
    return Attempt(number, at, max(0, duration), result, code if is_storable else None, excerpt_of(excerpt))
