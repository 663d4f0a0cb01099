"""FastAPI application of `web_kills`: async jobs, half of them created by a route."""

from __future__ import annotations

import asyncio
import os

from fastapi import FastAPI

from kron import AlreadyExists, Scheduler
from kron.integrations.fastapi import RunningScheduler, kron_lifespan
from tests.integrations.web_jobs import names
from tests.integrations.workload import OPTIONS, note, schedule, seconds

scheduler = Scheduler(os.environ["STORE"], shutdown_timeout=10)
app = FastAPI(lifespan=kron_lifespan(scheduler))


@scheduler.task
async def api_work() -> None:
    note("begin")
    await asyncio.sleep(seconds())
    note("end")


for name in names("api", "declared"):
    scheduler.add(api_work, schedule(name), name=name, **OPTIONS)  # type: ignore[arg-type]


@app.post("/jobs/{name}")
async def create(name: str, scheduler: RunningScheduler) -> bool:
    """Create a job; false if it exists, because the response of an earlier request was lost."""
    try:
        await scheduler.create(name, api_work, schedule(name), **OPTIONS)  # type: ignore[arg-type]
    except AlreadyExists:
        return False
    return True
