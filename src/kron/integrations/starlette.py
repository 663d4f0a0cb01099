"""Starlette: the scheduler starts and stops with the application, and routes get it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from kron.apps.embedded import Scheduler
from kron.errors import UsageError

Lifespan = Callable[[Any], AbstractAsyncContextManager[Mapping[str, Any] | None]]
RETRY_AFTER_SECONDS = 5  # in the header of a response that says that the scheduler does not run


def kron_lifespan(scheduler: Scheduler, lifespan: Lifespan | None = None) -> Lifespan:
    """Return a lifespan that runs a scheduler: `FastAPI(lifespan=kron_lifespan(scheduler))`.

    Args:
        scheduler: The scheduler. Each server process runs one; on one database they share the work.
        lifespan: Lifespan of the application; None if it has none. It begins before the scheduler and ends after it, so
            that jobs can use what it opens. Its state is passed on.

    Raises:
        UsageError: The application has another scheduler already.
        KronError: The scheduler cannot start, for example because its store has no tables.
    """

    @asynccontextmanager
    async def run_scheduler(app: Any) -> AsyncIterator[Mapping[str, Any] | None]:
        async with _own_lifespan(app) if lifespan is None else lifespan(app) as state:
            if getattr(app.state, "kron", None) is not None:
                message = "the application has a scheduler already"
                hint = "use one Scheduler for each application, and one kron_lifespan: declare all jobs on it"
                raise UsageError("TWO_SCHEDULERS", message, hint=hint)
            async with scheduler:
                app.state.kron = scheduler
                try:
                    yield state
                finally:
                    app.state.kron = None

    return run_scheduler


def running_scheduler(connection: HTTPConnection) -> Scheduler:
    """Return the scheduler of the application. In a Starlette route: `running_scheduler(request)`.

    Raises:
        HTTPException: The scheduler does not run. The status is 503, and the detail is the reason.
    """
    scheduler: Scheduler | None = getattr(connection.app.state, "kron", None)
    if scheduler is not None and scheduler.is_running:
        return scheduler
    reason = "the scheduler is not running: the application was started without the lifespan of kron_lifespan()"
    if scheduler is not None:
        reason = "the scheduler is not running: it was stopped, or this process was forked after its start"
    raise HTTPException(503, reason, {"Retry-After": str(RETRY_AFTER_SECONDS)})


@asynccontextmanager
async def _own_lifespan(app: Any) -> AsyncIterator[None]:
    yield
