"""Health, readiness and metrics of the service."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse

from kron.apps.service.auth.caller import Keeper, Watcher
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.context import AppContext, Used
from kron.apps.service.observe.health import health_lines
from kron.apps.service.observe.readiness import not_ready
from kron.apps.service.schemas import responses
from kron.engine.metrics import CONTENT_TYPE
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope

router = APIRouter(route_class=Guarded, tags=["status"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Return 200 while the process answers."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"description": "Not ready; `status` says why"}})
async def readyz(parts: AppContext = Used) -> JSONResponse:
    """Return 200 if the store answers, callers can be authenticated, and the worker here, if any, can take over."""
    problem = await not_ready(parts.store, parts.working.readiness if parts.config.run_worker else None)
    if not problem and not parts.authenticator.ready:
        problem = "the issuer's keys are unavailable"
    return JSONResponse({"status": problem or "ok"}, 503 if problem else 200)


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(caller: Watcher, parts: AppContext = Used) -> PlainTextResponse:
    """Return the metrics of this process and of the store in Prometheus text format."""
    return await metrics_response(parts)


async def metrics_response(parts: AppContext) -> PlainTextResponse:
    """Return the metrics of this process and of the store."""
    set_tenant_scope(ALL_TENANTS)  # totals over all tenants, which name no tenant
    return PlainTextResponse(parts.metrics.text() + await health_lines(parts.store), media_type=CONTENT_TYPE)


@router.get("/v1/webhook-secrets")
async def webhook_secrets(caller: Keeper, parts: AppContext = Used) -> responses.Secrets:
    """Return the secrets that sign the webhooks of this tenant."""
    return responses.Secrets(secrets=parts.secrets.written(caller.tenant))
