"""The real-time bounds of the document, read from a journal: R1, from a minute to its start; R2, from a restart on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.embedded.calendar import dues_of


@dataclass(slots=True)
class Bounds:
    """Reads a journal line by line. Seconds of the clock that the application goes by."""

    dues: dict[str, list[int]]
    latency: list[float] = field(default_factory=list)  # R1: the scheduler ran, and the task was free at its minute
    recovery: list[float] = field(default_factory=list)  # R2: a callback was in flight when the process died
    begun: float = 0.0  # when this life was asked to begin,
    ready: float = float("inf")  # and when it had
    free: dict[str, float] = field(default_factory=dict)  # since when a task is not running
    cut: set[str] = field(default_factory=set)

    def read(self, lines: Iterable[dict[str, Any]]) -> Bounds:
        going: set[str] = set()
        for line in lines:
            what, wall, about = line["what"], line["wall"], line["about"]
            if what == "crash":
                self.cut |= going
                going.clear()
                self.ready = float("inf")
            elif what == "init":
                self.begun = wall
            elif what == "init ok":
                self.ready, self.free = wall, dict.fromkeys(self.dues, wall)
            elif what in ("start", "retry"):
                self._started(about[0], what, wall)
                going.add(about[0])
            elif what in ("completed", "failed"):
                going.discard(about)
                self.free[about] = wall
        return self

    def _started(self, name: str, what: str, wall: float) -> None:
        if name in self.cut:
            self.cut.remove(name)
            self.recovery.append((wall - self.begun) / 1000)
        elif what == "start":
            due = self.dues[name][bisect_right(self.dues[name], wall) - 1]
            if due >= self.ready and due >= self.free[name]:
                self.latency.append((wall - due) / 1000)

    def words(self, speed: int) -> str:
        """Both bounds; the document asks for about a minute each."""
        first = _words("R1, from the minute to the start", self.latency, speed)
        return first + "\n" + _words("R2, from the restart to the start of what was in flight", self.recovery, speed)


def bounds(lines: Iterable[dict[str, Any]], date: str, zone: str, registered: Iterable[tuple[str, str, int]]) -> Bounds:
    """The bounds that a journal shows."""
    return Bounds({name: dues_of(date, zone, expression) for name, expression, _ in registered}).read(lines)


def _words(what: str, seconds: list[float], speed: int) -> str:
    found = sorted(seconds) or [float("nan")]
    p50, p99, most = found[len(found) // 2], found[len(found) * 99 // 100], found[-1]
    shown = f"{p50:.1f} s at p50, {p99:.1f} s at p99, {most:.1f} s at most"
    return f"{what}: {shown}, of {len(seconds)}, by a clock {speed} times as fast; {most / speed:.2f} s of ours"
