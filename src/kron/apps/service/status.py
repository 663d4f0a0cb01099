"""Whether the service lives, whether it can work, and what it has counted."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse

from kron.apps.service import answers
from kron.apps.service.caller import Keeper, Watcher
from kron.apps.service.guard import Guarded
from kron.apps.service.parts import Parts, Used
from kron.apps.service.readiness import not_ready
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
    """Whether the store answers, callers can be checked, and the worker here, if any, is able to take over."""
    problem = await not_ready(parts.store, parts.working.readiness if parts.config.worker else None)
    if not problem and not parts.door.ready:
        problem = "the keys of the issuer cannot be read"
    return JSONResponse({"status": problem or "ok"}, 503 if problem else 200)


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
