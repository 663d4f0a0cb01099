"""Outcomes: what became of a period, and why. Every period ends in exactly one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The four ends of a period."""

    EXECUTED = "executed"
    SKIPPED = "skipped"
    MISSED = "missed"
    UNSCHEDULABLE = "unschedulable"


class Reason(StrEnum):
    """Why a period was not executed, or did not succeed."""

    OVERLAP = "overlap"
    REPLACED = "replaced"
    COALESCED = "coalesced"
    DEADLINE = "deadline"
    CATCHUP_NONE = "catchup_none"
    REPLAY_BOUND = "replay_bound"
    LAUNCH_FAILED = "launch_failed"
    FAILED = "failed"  # it ran, and reported a failure
    SILENT = "silent"  # it ran, and no report came in time
    QUEUE_OVERFLOW = "queue_overflow"
    CONSTRAINTS = "constraints"
    UNKNOWN = "unknown"  # it was sent, and nobody knows whether it arrived
    DELETED = "deleted"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    SUPERSEDED = "superseded"
    ENDED = "ended"


WORDS = {
    Reason.OVERLAP: "the run before it had not ended, as far as Kron knew, when its turn came",
    Reason.REPLACED: "a newer period took its place",
    Reason.COALESCED: "a newer period stood for it",
    Reason.DEADLINE: "its deadline had passed",
    Reason.CATCHUP_NONE: "nobody was there at its time, and the policy is not to catch up",
    Reason.REPLAY_BOUND: "too many periods had been missed to handle each of them",
    Reason.LAUNCH_FAILED: "it could not be started",
    Reason.FAILED: "it ended with a failure",
    Reason.SILENT: "no report of its end came in time",
    Reason.QUEUE_OVERFLOW: "too many periods were waiting already",
    Reason.CONSTRAINTS: "no second of its window satisfied the constraints",
    Reason.UNKNOWN: "it was sent, and nobody knows whether it arrived",
    Reason.DELETED: "its schedule was deleted before it ended",
    Reason.PAUSED: "its schedule was paused",
    Reason.SUSPENDED: "its schedule was suspended by its policy",
    Reason.SUPERSEDED: "its schedule was changed before it was due, and no longer has this period",
    Reason.ENDED: "nobody was there at its time, and its schedule has ended since",
}


@dataclass(frozen=True, slots=True)
class Gap:
    """Periods that share one outcome without a record each: from the first to the last, `count` in all."""

    first: int
    last: int
    count: int
    verdict: Verdict
    reason: Reason
