"""What a scheduler did with many tasks that were due at once."""

from __future__ import annotations

import gc
import json
from dataclasses import asdict, dataclass
from pathlib import Path


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
    memory: float  # a task, when it runs and waits for the minute
    peak: float  # a task, at most
    again: float | None = None  # the same with what was persisted, after an end

    @property
    def rate(self) -> float:
        """Starts a second, from the boundary to the last."""
        return self.started / self.last if self.last > 0 else 0.0

    def text(self) -> str:
        """For another process."""
        return json.dumps(asdict(self))


class Memory:
    """What a process has taken since it was asked first, in bytes."""

    def __init__(self) -> None:
        gc.collect()
        self.before = _status("VmRSS")

    def now(self) -> float:
        """At the moment."""
        gc.collect()
        return _status("VmRSS") - self.before

    def peak(self) -> float:
        """At most."""
        return _status("VmHWM") - self.before


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024


def measured(
    name: str,
    tasks: int,
    boundary: float,
    starts: list[float],
    *,
    begin: float,
    memory: float,
    peak: float,
    again: float | None = None,
) -> Result:
    """The result of starts at those times; memory is that of all tasks."""
    late = sorted(start - boundary for start in starts) or [float("inf")]
    p50, p99, last = late[len(late) // 2], late[len(late) * 99 // 100], late[-1]
    return Result(name, tasks, len(starts), begin, p50, p99, last, memory / tasks, peak / tasks, again)


def read(text: str) -> Result:
    """The result of another process."""
    return Result(**json.loads(text))
