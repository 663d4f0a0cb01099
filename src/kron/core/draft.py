"""A plan in the making: the runs of one schedule as they are to be."""

from __future__ import annotations

from dataclasses import dataclass, field

from kron.core.case import Case
from kron.core.run import Run


@dataclass(slots=True)
class Draft:
    """What is known, who asks, and what has been decided so far."""

    case: Case
    now: int
    owner: str
    lease: int  # until when a claim made now holds
    runs: dict[str, Run] = field(default_factory=dict)  # open before, or made by this pass
    cancels: list[Run] = field(default_factory=list)

    def put(self, run: Run) -> None:
        """A run as it is to be."""
        self.runs[run.key] = run
