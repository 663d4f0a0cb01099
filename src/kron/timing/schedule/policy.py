"""Policies: what happens to runs that are late, overlap, fail or were missed. One value with one field per axis.

The specification documents differ only in these values. Each document has a preset here, and no other part of the
engine knows which document it implements.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MILLISECOND = 1_000_000  # nanoseconds
SECOND = 1_000 * MILLISECOND
MINUTE = 60 * SECOND


class Overlap(StrEnum):
    """Overlap policy: what happens to a due period while an earlier run of the same job is active."""

    ALLOW = "allow"  # it runs concurrently
    SKIP = "skip"  # it is skipped
    REPLACE = "replace"  # it runs, and the active run is canceled
    QUEUE = "queue"  # it waits in the queue
    COALESCE = "coalesce"  # it waits until it runs or a newer period replaces it


OVERLAP_NAMES = {  # names that authors can use: Kron's own, and those of Temporal
    **{overlap.value: overlap for overlap in Overlap},
    "Skip": Overlap.SKIP,
    "BufferOne": Overlap.COALESCE,
    "BufferAll": Overlap.QUEUE,
    "CancelOther": Overlap.REPLACE,
    "TerminateOther": Overlap.REPLACE,
    "AllowAll": Overlap.ALLOW,
}


class Catchup(StrEnum):
    """Catch-up policy: what happens to periods that became due while no worker was running."""

    NONE = "none"  # all are missed
    LATEST = "latest"  # the newest runs, once
    BY_DEADLINE = "by-deadline"  # each runs if its deadline has not passed
    ALL = "all"  # all run, oldest first
    SPREAD = "spread"  # all run, spread over the lookahead


class WorkerLossPolicy(StrEnum):
    """What happens to a launch or a run whose worker was lost."""

    LOST = "lost"  # it is never retried, because the target may have run it
    REDELIVER = "redeliver"  # an unacknowledged launch is delivered again with the same key
    RESTART = "restart"  # it starts again at once


class FirstPeriod(StrEnum):
    """First period that a new definition is responsible for."""

    CURRENT_MINUTE = "current-minute"  # periods from the minute of registration on
    CHOSEN = "chosen"  # periods whose chosen time is not earlier than the second of registration
    AFTER = "after"  # periods strictly after the registration


class Resume(StrEnum):
    """What happens to periods that passed during a pause."""

    DROP = "drop"  # they are dropped and never run
    BY_DEADLINE = "by-deadline"  # each runs if its deadline has not passed


class AfterEnd(StrEnum):
    """What happens to a schedule after its last run has ended."""

    KEEP = "keep"  # it stays until it is deleted
    DELETE = "delete"  # a worker deletes it; its records stay


class Completion(StrEnum):
    """When a run that its target has accepted is finished."""

    ACCEPTED = "accepted"  # at acknowledgment, unless the target's response says that the run has started
    REPORTED = "reported"  # when its end is reported; until then the run holds a lease


@dataclass(frozen=True, slots=True)
class Policy:
    """Policy of a schedule. All durations are in nanoseconds. A deadline of None means no limit."""

    overlap: Overlap = Overlap.SKIP
    deadline: int | None = 0
    suspend: bool = False
    catchup: Catchup = Catchup.BY_DEADLINE
    catchup_limit: int = 100  # periods of a schedule handled one by one per pass; the rest is one gap record
    spread_over: int = MINUTE
    queue_limit: int = 100
    jitter: int = 0  # maximum distance from the nominal time, before or after; used instead of a window
    resolution: int = SECOND  # a run that starts within it is on time
    grace: int = 0  # a run that starts within it needs no catch-up; the deadline still applies
    retry_after: int | None = None  # delay before a failed run runs again; None means never
    launch_for: int = 10 * MINUTE  # how long a launch is retried if there is no deadline
    launch_backoff: int = SECOND  # delay before the second attempt
    on_worker_loss: WorkerLossPolicy = WorkerLossPolicy.LOST
    run_lease: int = 60 * MINUTE  # how long a run can go without a report before it is lost
    first_period: FirstPeriod = FirstPeriod.CHOSEN
    resume: Resume = Resume.BY_DEADLINE
    completion: Completion = Completion.REPORTED
    launch_attempts: int | None = None  # maximum attempts of one launch; None: until the deadline or `launch_for`
    launch_factor: int = 2  # the delay between two attempts is multiplied by it
    launch_max_delay: int = MINUTE  # maximum delay between two attempts
    launch_jitter: int = 25  # percent by which such a delay can be shorter
    retry_attempts: int | None = None  # maximum retries of a failed run; None means no limit
    retry_factor: int = 1  # the retry delay is multiplied by it after each retry
    retry_max_delay: int | None = None  # maximum retry delay; None means no limit but a year
    retry_jitter: int = 0  # percent by which a retry delay can be shorter
    timeout: int | None = None  # how long an accepted run can take; None means no limit
    overlap_limit: int | None = None  # maximum active runs under `allow`; None means no limit
    max_runs: int | None = None  # scheduled runs after which the schedule is over; None means no limit
    pause_on_failure: int | None = None  # failed runs in a row after which the schedule is paused; None means never
    after_end: AfterEnd = AfterEnd.KEEP
    preset: str = ""  # preset name; when the row is read, the preset sets every field that is not in `given`
    given: tuple[str, ...] = ()  # names of the fields that the author of the schedule set, in order

    @property
    def has_counters(self) -> bool:
        """Whether the schedule counts its runs or its failures."""
        return self.max_runs is not None or self.pause_on_failure is not None


LATER_AXES = (  # axes that are not part of a stored policy where they have their default
    "launch_attempts",
    "launch_factor",
    "launch_max_delay",
    "launch_jitter",
    "retry_attempts",
    "retry_factor",
    "retry_max_delay",
    "retry_jitter",
    "timeout",
    "overlap_limit",
    "max_runs",
    "pause_on_failure",
    "after_end",
)
KRON = Policy()
SERVICE = Policy(
    deadline=None,
    catchup=Catchup.NONE,
    grace=MINUTE,
    on_worker_loss=WorkerLossPolicy.REDELIVER,
    first_period=FirstPeriod.AFTER,
    resume=Resume.DROP,
    completion=Completion.ACCEPTED,
)
APPLICATION = Policy(
    deadline=None,
    catchup=Catchup.LATEST,
    catchup_limit=1,
    first_period=FirstPeriod.AFTER,
    resume=Resume.DROP,
    run_lease=2 * MINUTE,  # short enough to detect a crashed process, long enough for a database failover
)
DECLARATIVE = Policy(
    overlap=Overlap.COALESCE,
    deadline=None,
    catchup=Catchup.LATEST,
    catchup_limit=1,
    resolution=MINUTE,
    retry_after=0,
    on_worker_loss=WorkerLossPolicy.RESTART,
    first_period=FirstPeriod.CURRENT_MINUTE,
    resume=Resume.DROP,
)
