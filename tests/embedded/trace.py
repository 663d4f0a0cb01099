"""Traces: what can be observed of a scheduler from outside, in the order in which it happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation. `at` is the time that has passed, `wall` what the clock showed then; both in milliseconds."""

    at: float
    wall: float
    what: str
    about: Any = None


@dataclass(slots=True)
class Trace:
    """Observations, and where and when they were made.

    what                        about
    init                        the registrations: (name, expression, delay in ms) each, and whether they are valid
    init ok, init failed        -
    init refused                - (another one was going, or running)
    start, retry                the name, and the attempt's recorded time in ms
    preempted, completed, failed  the name
    returned, raised            the name
    stop, stopped, crash, jump, end   -
    """

    date: str
    zone: str
    seen: list[Seen] = field(default_factory=list)

    def text(self) -> str:
        """For people."""
        head = f"{self.zone}, around {self.date}"
        return "\n".join(
            [head, *(f"{s.at / 1000:10.3f} s  {_utc(s.wall)}  {s.what} {s.about or ''}" for s in self.seen)]
        )


def _utc(wall: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(wall / 1000, UTC).strftime("%d %H:%M:%S.%f")[:-3]
