"""FastAPI: the scheduler starts and stops with the application, and a dependency gives it to routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from kron.apps.embedded import Scheduler
from kron.integrations.starlette import kron_lifespan, running_scheduler

RunningScheduler = Annotated[Scheduler, Depends(running_scheduler)]
"""Type of a route's parameter: the scheduler of the application. If it does not run, the response is 503."""

__all__ = ["RunningScheduler", "kron_lifespan", "running_scheduler"]
