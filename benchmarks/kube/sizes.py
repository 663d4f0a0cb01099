"""How much is measured. `KRON_KUBE_JOBS` sets the number of KronJobs; fewer than 1,000 make a short run."""

from __future__ import annotations

import os
from dataclasses import dataclass

FULL = 5_000


@dataclass(frozen=True)
class Sizes:
    """How much is measured. Times are in seconds."""

    jobs: int = FULL  # KronJobs that are due in one second, and as many CronJobs
    cronjobs: int = FULL
    jobs_each: int = 4  # Jobs per KronJob when memory and restarts are measured
    calls: int = 100  # KronJobs, and CronJobs, whose requests are counted over the life of their Jobs
    window: int = 60
    lead: float = 120.0  # from the first definition to the time at which all are due
    idle: float = 60.0
    settle: float = 5.0  # before memory is read
    patience: float = 400.0  # for the Jobs of the CronJob controller, which creates about 7 per second

    @property
    def is_short(self) -> bool:
        """Whether the run only checks that everything works: its figures say nothing."""
        return self.jobs < FULL


def chosen_sizes() -> Sizes:
    """Return the sizes for `KRON_KUBE_JOBS`."""
    jobs = int(os.environ.get("KRON_KUBE_JOBS") or FULL)
    if jobs >= FULL:
        return Sizes(jobs, jobs, lead=jobs / 42)
    few = max(1, jobs // 10)
    return Sizes(jobs, few, 2, few, 5, 4 + jobs * 0.02, 1.0, 0.2, 60.0)
