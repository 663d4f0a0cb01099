"""What is to happen to a period that is late, or whose predecessor is still running."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Concurrency(StrEnum):
    """What a period does while an earlier run of the same job is going."""

    ALLOW = "allow"
    FORBID = "forbid"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of @policy. The deadline is in nanoseconds of lateness after the chosen time."""

    concurrency: Concurrency = Concurrency.FORBID
    deadline: int = 0
    suspend: bool = False


DEFAULT = Policy()
