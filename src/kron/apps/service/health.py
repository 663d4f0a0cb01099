"""The application of a process that only works: health and metrics, and nothing that could be asked or changed."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import teach
from kron.apps.service.status import counted, healthz, readyz


def health_app(parts: Parts) -> FastAPI:
    """Serve `/healthz`, `/readyz` and `/metrics` of the parts, without tokens. For workers: it has no other route."""
    app = FastAPI(title="Kron worker", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.parts = parts
    app.add_api_route("/healthz", healthz, methods=["GET", "HEAD"])
    app.add_api_route("/readyz", readyz, methods=["GET", "HEAD"])
    app.add_api_route("/metrics", _metrics, methods=["GET", "HEAD"], response_class=PlainTextResponse)
    teach(app)
    return app


async def _metrics(parts: Parts = Used) -> PlainTextResponse:
    return await counted(parts)
