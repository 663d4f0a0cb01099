"""Whether the service lives, whether it can work, and what it has counted."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse

from kron.apps.service import answers
from kron.apps.service.caller import Keeper, Watcher
from kron.apps.service.guard import Guarded
from kron.apps.service.parts import Parts, Used
from kron.apps.service.vitals import vital_lines
from kron.metrics import CONTENT_TYPE
from kron.within import EVERYWHERE, keep_within

router = APIRouter(route_class=Guarded, tags=["status"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Whether the process answers."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"description": "It cannot work now; `status` says why"}})
async def readyz(parts: Parts = Used) -> JSONResponse:
    """Whether the store answers, and the worker, if there is one here, has passed lately."""
    try:
        now = await asyncio.wait_for(parts.store.now(), 2)
    except Exception:
        return JSONResponse({"status": "the store does not answer"}, 503)
    if not parts.door.ready:
        return JSONResponse({"status": "the keys of the issuer cannot be read"}, 503)
    late = now - parts.beats.get("pass", 0) > 10 * parts.config.tick_ms + 30_000
    if parts.config.worker and late:
        return JSONResponse({"status": "the worker makes no passes"}, 503)
    return JSONResponse({"status": "ok"})


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(caller: Watcher, parts: Parts = Used) -> PlainTextResponse:
    """What was counted here, and how it goes with the store, as Prometheus reads it."""
    return await counted(parts)


async def counted(parts: Parts) -> PlainTextResponse:
    """The metrics of this process and of the store."""
    keep_within(EVERYWHERE)  # it is about the whole, and names nobody
    return PlainTextResponse(parts.metrics.text() + await vital_lines(parts.store), media_type=CONTENT_TYPE)


@router.get("/v1/webhook-secrets")
async def webhook_secrets(caller: Keeper, parts: Parts = Used) -> answers.Secrets:
    """The secrets that the webhooks of this tenant are signed with."""
    return answers.Secrets(secrets=parts.secrets.written(caller.tenant))
