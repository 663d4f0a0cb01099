"""Attempts in words, for `kron why` and the reports of periods."""

from __future__ import annotations

from kron.engine.fleet import kind_of
from kron.rules.attempt import Attempt, AttemptResult
from kron.timing.zone import rfc3339_ms

_RESULT_TEXT = {
    AttemptResult.OK: "accepted",
    AttemptResult.REJECTED: "rejected",
    AttemptResult.RETRYABLE: "not accepted",
    AttemptResult.UNKNOWN: "result unknown",
    AttemptResult.UNSENT: "not sent",
    AttemptResult.SUCCESS: "succeeded",
    AttemptResult.FAILED: "failed",
    AttemptResult.LOST: "lost",
}


def attempt_text(attempt: Attempt, target: str) -> str:
    """Return an attempt as one line, such as `attempt 2 at …: not accepted, HTTP 503, after 31 ms: "upstream down"`.

    Args:
        attempt: The attempt.
        target: Target of the run: it tells whether the code is an exit status or an HTTP status.
    """
    code = "" if attempt.code is None else f", {'exit status' if is_command(target) else 'HTTP'} {attempt.code},"
    excerpt = f': "{attempt.excerpt}"' if attempt.excerpt else ""
    begin = f"attempt {attempt.number} at {rfc3339_ms(attempt.at)}: {_RESULT_TEXT[attempt.result]}"
    return f"{begin}{code} after {attempt.duration:,} ms{excerpt}"


def is_command(target: str) -> bool:
    """Return whether a target is a command: its codes are exit statuses, and no HTTP statuses."""
    return kind_of(target) == "command"
