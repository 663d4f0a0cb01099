"""Outcomes and their reasons. Every period ends in exactly one outcome."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """Outcome of a period: written once, permanent."""

    EXECUTED = "executed"
    SKIPPED = "skipped"
    MISSED = "missed"
    UNSCHEDULABLE = "unschedulable"


class Reason(StrEnum):
    """Machine-readable cause of an outcome or of an unsuccessful run."""

    OVERLAP = "overlap"
    REPLACED = "replaced"
    COALESCED = "coalesced"
    DEADLINE = "deadline"
    CATCHUP_NONE = "catchup_none"
    REPLAY_BOUND = "replay_bound"
    LAUNCH_FAILED = "launch_failed"
    FAILED = "failed"  # the run was executed, and reported a failure
    TIMEOUT = "timeout"  # the run was executed, and did not end within its time limit
    SILENT = "silent"  # the run was executed, and no report arrived in time
    QUEUE_OVERFLOW = "queue_overflow"
    CONSTRAINTS = "constraints"
    UNKNOWN = "unknown"  # the run was sent, and Kron cannot know whether it arrived
    DELETED = "deleted"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    SUPERSEDED = "superseded"
    ENDED = "ended"
    SHADOW = "shadow"  # the daemon records runs, and starts nothing


REASON_TEXT = {
    Reason.OVERLAP: "Another run of the schedule was waiting or active.",
    Reason.REPLACED: "A newer period replaced this one.",
    Reason.COALESCED: "Kron coalesced this period into a newer one.",
    Reason.DEADLINE: "The deadline passed before the run was launched.",
    Reason.CATCHUP_NONE: "No worker was running when the period was due, and the catch-up policy is `none`.",
    Reason.REPLAY_BOUND: "More periods were missed than Kron handles one by one.",
    Reason.LAUNCH_FAILED: "The run could not be launched.",
    Reason.FAILED: "The target reported a failure.",
    Reason.TIMEOUT: "The run did not end within its time limit.",
    Reason.SILENT: "No report of the run's end arrived in time.",
    Reason.QUEUE_OVERFLOW: "Too many periods were already waiting.",
    Reason.CONSTRAINTS: "No second of the window satisfied the constraints.",
    Reason.UNKNOWN: "Kron sent the run and cannot know whether it arrived.",
    Reason.DELETED: "The schedule was deleted before the run ended.",
    Reason.PAUSED: "The schedule was paused.",
    Reason.SUSPENDED: "The schedule was suspended by its policy.",
    Reason.SUPERSEDED: "The schedule was changed before the period was due, and no longer has this period.",
    Reason.ENDED: "No worker was running when the period was due, and the schedule has ended since.",
    Reason.SHADOW: "krond runs in shadow mode: it records when the run would have started, and starts nothing.",
}
