"""A web application with a scheduler inside, started and stopped by its server: `uvicorn asgi:app`.

With FastAPI or Starlette the lifespan below is all that is needed: `FastAPI(lifespan=lifespan)`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kron import Scheduler

scheduler = Scheduler("sqlite:jobs.db")


@scheduler.job("every 5 minutes")
async def refresh() -> None:
    print("refreshed")


@asynccontextmanager
async def lifespan(application: Any) -> AsyncIterator[None]:
    async with scheduler:
        yield


async def app(scope: Any, receive: Any, send: Any) -> None:
    """What FastAPI does with a lifespan, in ten lines."""
    if scope["type"] == "lifespan":
        await receive()
        async with lifespan(app):
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "http":
        coming = await scheduler.next("refresh")
        text = coming.isoformat() if coming else "none"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": text.encode()})
