"""Plan builder: a plan under construction, with the runs of one schedule as they are to be written."""

from __future__ import annotations

from dataclasses import dataclass, field

from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.run import Run
from kron.rules.state import ScheduleState


@dataclass(slots=True)
class PlanBuilder:
    """Schedule state, time and worker that a plan is made for, and the decisions so far."""

    state: ScheduleState
    now: int
    owner: str
    lease: int  # milliseconds: when a claim made now expires
    runs: dict[str, Run] = field(default_factory=dict)  # runs that were open before, and runs that this pass adds
    cancels: list[Run] = field(default_factory=list)
    attempts: list[tuple[Run, Attempt]] = field(default_factory=list)  # attempts that were lost
    action: ScheduleAction | None = None  # pause after too many failures

    def set_run(self, run: Run) -> None:
        """Set a run to the state that the plan gives it."""
        self.runs[run.key] = run
