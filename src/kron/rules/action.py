"""Actions on a schedule: who paused, resumed or deleted it or requested runs of it, when and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

KRON_ACTOR = "kron"  # actor of an action that no person requested


class ActionKind(StrEnum):
    """Kind of action on a schedule, apart from defining it."""

    PAUSED = "paused"
    RESUMED = "resumed"
    DELETED = "deleted"
    TRIGGERED = "triggered"
    BACKFILLED = "backfilled"
    REDRIVEN = "redriven"


REQUESTS = frozenset({ActionKind.TRIGGERED, ActionKind.BACKFILLED, ActionKind.REDRIVEN})  # they change no schedule


@dataclass(frozen=True, slots=True)
class ScheduleAction:
    """Recorded action on a schedule: kind, time, actor and note. `until` is when a pause expires.

    Kept as long as the schedule. A request for runs is kept as long as runs are.
    """

    kind: ActionKind
    at: int
    until: int | None = None
    actor: str = ""
    note: str = ""
