"""State of a run: its position in its life cycle."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Position of a run in its life cycle. A run only moves forward."""

    PENDING = "pending"  # due, and waiting for its turn
    LAUNCHING = "launching"  # claimed by a worker that is about to launch it
    RETRY = "retry"  # the last attempt failed or its result is unknown; to be launched again
    ENQUEUED = "enqueued"  # accepted by the target
    STARTED = "started"  # reported as started by the target
    WAITING = "waiting"  # failed, and will run again
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"  # executed, and stopped reporting
    UNKNOWN = "unknown"  # may have been executed
    SKIPPED = "skipped"
    MISSED = "missed"
    UNSCHEDULABLE = "unschedulable"


OPEN = frozenset({State.PENDING, State.LAUNCHING, State.RETRY, State.ENQUEUED, State.STARTED, State.WAITING})
ACTIVE = frozenset({State.LAUNCHING, State.RETRY, State.ENQUEUED, State.STARTED})  # may be in progress
RUNNING = frozenset({State.ENQUEUED, State.STARTED})
REDRIVABLE = frozenset({State.FAILED, State.UNKNOWN, State.LOST})  # a user can have it run again
