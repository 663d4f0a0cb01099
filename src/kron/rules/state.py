"""Schedule state: all that is known of one schedule when a pass begins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kron.rules.downtime import ALWAYS, Downtime
from kron.rules.run import Run
from kron.timing.job import Job
from kron.timing.schedule.policy import FirstPeriod, Policy

NOTHING: Mapping[int, Job] = MappingProxyType({})


class ScheduleState(NamedTuple):
    """State of one schedule, as a store gives it to `plan`.

    Every period up to the cursor is handled. Where windows overlap, some later periods can be handled too: they are in
    `handled_ahead`. This revision is not responsible for periods that fell due before `effective_from` (milliseconds).

    A revision that replaced another one is responsible for every period after `effective_from`. Of the earlier periods,
    it is responsible only for those in `owed`: they were open when the revision was made, and its calendar has them
    too. If `owed` is None, there was no previous revision, and the policy's first period decides.
    """

    job: Job
    revision: int
    cursor: int  # seconds
    effective_from: int
    paused: bool = False
    deleted: bool = False
    next_check_at: int | None = None  # milliseconds; None: not before a change
    open_runs: tuple[Run, ...] = ()
    handled_ahead: frozenset[int] = frozenset()
    paused_until: int | None = None  # milliseconds: when the pause expires; None: not before it is resumed
    owed: frozenset[int] | None = None  # seconds
    downtime: Downtime = ALWAYS
    former: Mapping[int, Job] = NOTHING  # jobs of the older revisions under which open runs were recorded
    run_count: int = 0  # scheduled runs that were recorded to be launched, while the policy had `max_runs`
    failure_count: int = 0  # failed runs in a row, where the policy has `pause_on_failure`

    @property
    def identity(self) -> str:
        """Identity of the schedule."""
        return self.job.identity

    @property
    def is_inactive(self) -> bool:
        """Whether no period is handled for now."""
        return self.paused or self.deleted or self.policy.suspend

    def pause_expired(self, now: int) -> bool:
        """Return whether the pause has reached its end and is still recorded as a pause."""
        return self.paused and not self.deleted and self.paused_until is not None and self.paused_until <= now

    @property
    def policy(self) -> Policy:
        """Policy of the job."""
        return self.job.schedule.policy

    @property
    def runs_left(self) -> int | None:
        """How many more scheduled runs the policy allows; None: no limit."""
        limit = self.policy.max_runs
        return None if limit is None else max(0, limit - self.run_count)

    def job_of(self, run: Run) -> Job:
        """Return the job of the revision under which a run was recorded.

        A task of the declarative scheduler has one configuration, which also applies to its open runs.
        """
        if not self.former or self.policy.first_period is FirstPeriod.CURRENT_MINUTE:
            return self.job
        return self.former.get(run.revision, self.job)
