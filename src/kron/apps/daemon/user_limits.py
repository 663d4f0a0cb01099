"""User limits: how many jobs of one user's table start per second. The jobs of other tables have no such limit."""

from __future__ import annotations

from pathlib import Path

from kron.engine.target_limit import TargetLimit
from kron.engine.target_name import EVERY_TARGET
from kron.launchers.command.launcher import LANE
from kron.timing.job import Job

STARTS_PER_SECOND = 20.0


class UserLanes:
    """Lanes of the commands of a host: one for each user's table, and one for all other tables."""

    def __init__(self, spool: Path | None) -> None:
        self.spool = None if spool is None else str(spool)

    @property
    def limits(self) -> tuple[TargetLimit, ...]:
        """Limits of a worker: on the lanes of users."""
        if self.spool is None:
            return ()
        return (TargetLimit(LANE), TargetLimit(EVERY_TARGET, per_second=STARTS_PER_SECOND))

    def lane_of(self, job: Job) -> str:
        """Return the lane of a job."""
        folder, _, name = job.identity.rpartition(":")[0].rpartition("/")
        return f"user {name}" if folder == self.spool else LANE
