"""Withholding: why a claimed run is not sent now, and when it is claimed again."""

from __future__ import annotations

from typing import NamedTuple

from kron.engine.claim import Claim
from kron.engine.latest_return import before_deadline
from kron.engine.target_limit import TargetLimits

CROWDED_RETRY_MS = 5_000  # milliseconds until the next attempt, if the tenant or host has too many slow launches
MIN_TURN_MS = 1_000  # milliseconds until a run is claimed again at least

CLAIM_EXPIRING = "its claim was about to expire"
TOO_MANY_SLOW_LAUNCHES = "its tenant or host has too many slow launches"
COMMIT_UNCERTAIN = "the store failed while the run was claimed"
WORKER_STOPPING = "this worker is stopping"
# Reasons that are in the worker: the run counts its withheld attempts, and does not record them.
OWN_REASONS = frozenset({CLAIM_EXPIRING, TOO_MANY_SLOW_LAUNCHES, COMMIT_UNCERTAIN, WORKER_STOPPING})


class Withholding(NamedTuple):
    """Why a run is not sent, and after how many milliseconds it is claimed again."""

    why: str
    delay: int


def crowded(limits: TargetLimits | None, claim: Claim, now: int) -> Withholding:
    """Return why a run cannot wait in its lane: the limit of its target, or slow launches.

    A run with a deadline is claimed again before its deadline passes.
    """
    cause = "" if limits is None else limits.cause(claim.target)
    if limits is None or not cause:
        return Withholding(TOO_MANY_SLOW_LAUNCHES, CROWDED_RETRY_MS)
    delay, latest = int(limits.turn(claim.target, claim.run.unsent) * 1000), before_deadline(claim)
    return Withholding(cause, delay if latest is None else min(delay, max(MIN_TURN_MS, latest - now)))
