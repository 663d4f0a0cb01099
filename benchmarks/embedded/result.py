"""What a scheduler did with many tasks that were due at once."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """Times in seconds, memory in bytes."""

    name: str
    tasks: int
    started: int
    begin: float  # from the first call to the moment at which it runs
    p50: float  # lateness of the starts, from the boundary of the minute
    p99: float
    last: float
    memory: float  # a task
    again: float | None = None  # the same with what was persisted, after an end

    @property
    def rate(self) -> float:
        """Starts a second, from the boundary to the last."""
        return self.started / self.last if self.last > 0 else 0.0

    def text(self) -> str:
        """For another process."""
        return json.dumps(asdict(self))


def measured(
    name: str, tasks: int, boundary: float, starts: list[float], begin: float, memory: float, again: float | None = None
) -> Result:
    """The result of starts at those times."""
    late = sorted(start - boundary for start in starts) or [float("inf")]
    return Result(
        name, tasks, len(starts), begin, late[len(late) // 2], late[len(late) * 99 // 100], late[-1], memory, again
    )


def read(text: str) -> Result:
    """The result of another process."""
    return Result(**json.loads(text))
