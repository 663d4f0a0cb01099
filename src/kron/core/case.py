"""A Case: all that is known of one schedule when a pass begins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kron.core.downtime import ALWAYS, Downtime
from kron.core.job import Job
from kron.core.policy import FirstSight, Policy
from kron.core.run import Run

NOTHING: Mapping[int, Job] = MappingProxyType({})


class Case(NamedTuple):
    """What a store hands to `plan`.

    Every period up to the cursor is handled. Where windows overlap, some later ones may be handled too:
    they are `ahead`. Periods that fell due before `since` (milliseconds) are not this revision's business.

    A revision that replaced another one answers for every period after `since`, and of the earlier periods only for
    those in `owed`: they were open when it was made, and its calendar has them too. None: there was no other one
    before it, and the policy's first sight decides.
    """

    job: Job
    revision: int
    cursor: int  # seconds
    since: int
    paused: bool = False
    deleted: bool = False
    wake: int | None = None  # when to look again; None: not before somebody changes something
    open: tuple[Run, ...] = ()
    ahead: frozenset[int] = frozenset()
    until: int | None = None  # milliseconds: when its pause ends by itself; None: not before somebody ends it
    owed: frozenset[int] | None = None  # seconds
    downtime: Downtime = ALWAYS
    former: Mapping[int, Job] = NOTHING  # older revisions under which open runs were recorded

    @property
    def identity(self) -> str:
        """Whose case it is."""
        return self.job.identity

    @property
    def idle(self) -> bool:
        """Whether no period is handled for the time being."""
        return self.paused or self.deleted or self.policy.suspend

    def awakes(self, now: int) -> bool:
        """Whether its pause is over, and nobody has ended it yet."""
        return self.paused and not self.deleted and self.until is not None and self.until <= now

    @property
    def policy(self) -> Policy:
        """The policy of the job."""
        return self.job.schedule.policy

    def job_of(self, run: Run) -> Job:
        """The definition of a run: that of the revision under which it was recorded.

        A task of the declarative scheduler has one configuration, which holds for what is open, too.
        """
        if not self.former or self.policy.first_sight is FirstSight.CURRENT_MINUTE:
            return self.job
        return self.former.get(run.revision, self.job)
