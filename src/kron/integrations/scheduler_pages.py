"""Pages of a scheduler, made once for each scheduler of a process."""

from __future__ import annotations

from functools import lru_cache

from kron.apps.embedded import Scheduler
from kron.apps.embedded.scheduler_dashboard import SchedulerDashboard


@lru_cache(16)
def pages_of(scheduler: Scheduler) -> SchedulerDashboard:
    """Return the dashboard of a scheduler. The framework that shows it decides who may see it."""
    return scheduler.dashboard()
