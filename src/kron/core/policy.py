"""What is to become of a period that is late, overlaps, fails or is forgotten: one value, an axis a field.

The documents differ in nothing but these values. Each is a preset here, and nothing else in the engine
knows which document it serves.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MILLISECOND = 1_000_000  # nanoseconds
SECOND = 1_000 * MILLISECOND
MINUTE = 60 * SECOND


class Overlap(StrEnum):
    """What a due period does while an earlier run of the same job is going."""

    ALLOW = "allow"  # it starts beside it
    SKIP = "skip"  # it is skipped
    REPLACE = "replace"  # it ends the other and starts
    QUEUE = "queue"  # it waits its turn
    COALESCE = "coalesce"  # it waits, and gives way to a newer one that comes to wait


class Catchup(StrEnum):
    """What becomes of periods that fell due while nobody was looking."""

    NONE = "none"  # missed
    LATEST = "latest"  # the newest runs, once
    BY_DEADLINE = "by-deadline"  # each is judged by its own deadline
    ALL = "all"  # all run, oldest first
    SPREAD = "spread"  # all run, spread over the look-ahead


class Interrupted(StrEnum):
    """What becomes of a start or a run whose worker fell silent."""

    LOST = "lost"  # it may have run; it is never tried again
    REDELIVER = "redeliver"  # an unacknowledged start is sent again under the same key
    RESTART = "restart"  # it starts again at once


class FirstSight(StrEnum):
    """Which periods a new definition answers for."""

    CURRENT_MINUTE = "current-minute"  # from the minute of registration on
    CHOSEN = "chosen"  # those whose chosen time is not earlier than the second of registration
    AFTER = "after"  # those strictly after it


class Resume(StrEnum):
    """What becomes of periods that passed during a pause."""

    DROP = "drop"  # they are nobody's
    BY_DEADLINE = "by-deadline"  # each is judged by its deadline


class Completion(StrEnum):
    """When a run that its target has accepted is finished."""

    ACCEPTED = "accepted"  # at once: nothing more is expected, unless the answer says that it has started
    REPORTED = "reported"  # when its end is reported; until then it holds a lease


@dataclass(frozen=True, slots=True)
class Policy:
    """The axes. Durations are in nanoseconds; None for the deadline means that it is never too late."""

    overlap: Overlap = Overlap.SKIP
    deadline: int | None = 0
    suspend: bool = False
    catchup: Catchup = Catchup.BY_DEADLINE
    bound: int = 100  # periods of one schedule handled one by one in one pass; a longer tail is one gap
    spread_over: int = MINUTE
    queue_bound: int = 100
    jitter: int = 0  # up to so much before or after the nominal time, instead of a window
    resolution: int = SECOND  # what starts within it is on time
    grace: int = 0  # what starts within it needs no catching up; the deadline holds all the same
    retry_after: int | None = None  # a failed run runs again after so long
    launch_for: int = 10 * MINUTE  # how long a launch is tried again where no deadline says so
    launch_backoff: int = SECOND  # before the second attempt, then doubled, up to a minute
    interrupted: Interrupted = Interrupted.LOST
    run_lease: int = 60 * MINUTE  # how long a run may be silent before it is lost
    first_sight: FirstSight = FirstSight.CHOSEN
    resume: Resume = Resume.BY_DEADLINE
    completion: Completion = Completion.REPORTED
    preset: str = ""  # its name: the preset decides every axis that is not `given`, as it is when the row is read
    given: tuple[str, ...] = ()  # names of the axes that the author of the schedule gave, in order


KRON = Policy()
SERVICE = Policy(
    deadline=None,
    catchup=Catchup.NONE,
    grace=MINUTE,
    interrupted=Interrupted.REDELIVER,
    first_sight=FirstSight.AFTER,
    resume=Resume.DROP,
    completion=Completion.ACCEPTED,
)
APPLICATION = Policy(
    deadline=None,
    catchup=Catchup.LATEST,
    bound=1,
    first_sight=FirstSight.AFTER,
    resume=Resume.DROP,
    run_lease=2 * MINUTE,  # a process that died is noticed by then, and a database may fail over meanwhile
)
DECLARATIVE = Policy(
    overlap=Overlap.COALESCE,
    deadline=None,
    catchup=Catchup.LATEST,
    bound=1,
    resolution=MINUTE,
    retry_after=0,
    interrupted=Interrupted.RESTART,
    first_sight=FirstSight.CURRENT_MINUTE,
    resume=Resume.DROP,
)
