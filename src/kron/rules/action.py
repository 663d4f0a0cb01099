"""Actions on a schedule: who paused, resumed or deleted it, when and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

KRON_ACTOR = "kron"  # actor of an action that no person requested


class ActionKind(StrEnum):
    """Kind of action on a schedule, apart from defining it."""

    PAUSED = "paused"
    RESUMED = "resumed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class ScheduleAction:
    """Recorded action on a schedule: kind, time, actor and note. Kept permanently. `until` is when a pause expires."""

    kind: ActionKind
    at: int
    until: int | None = None
    actor: str = ""
    note: str = ""
