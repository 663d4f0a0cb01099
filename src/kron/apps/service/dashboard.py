"""Dashboard of the service, at `/ui`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from kron.apps.dashboard.access import LoopbackAccess, Role, Viewer
from kron.apps.dashboard.app import make_dashboard
from kron.apps.dashboard.context import DashboardContext
from kron.apps.dashboard.form import TOKEN_FIELD, Fields
from kron.apps.redacted import redacted
from kron.apps.service.auth.audit import SELECTIONS, facts_of
from kron.apps.service.auth.caller import Caller
from kron.apps.service.auth.guard import record_result
from kron.apps.service.auth.proxies import address_of
from kron.apps.service.config import DASHBOARD_PATH, Config
from kron.apps.service.context import AppContext
from kron.apps.service.problem import status_of
from kron.apps.service.quota import Quotas
from kron.apps.service.schemas.definition import check_job

SESSION_ID_LENGTH = 8  # characters of a session id that the audit log has


def mount_dashboard(app: FastAPI, config: Config) -> None:
    """Mount the dashboard, if the settings ask for it. Without a login, it is open where the API needs no token."""
    if config.has_dashboard and (config.auth == "none" or config.ui_issuer):
        app.router.routes.append(Route(DASHBOARD_PATH, _to_first_page))
        app.mount(DASHBOARD_PATH, ServiceDashboard(app))


async def _to_first_page(_: Request) -> Response:
    return RedirectResponse(f"{DASHBOARD_PATH}/", 303)


class ServiceDashboard:
    """Dashboard that uses the store and the registrar of the service, which are opened when the service starts."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._pages: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if self._pages is None:
            parts: AppContext = self.app.state.parts
            routes = parts.login.pages.routes() if parts.login else []
            self._pages = make_dashboard(_context(parts), routes)
        await self._pages(scope, receive, send)


def _context(parts: AppContext) -> DashboardContext:
    login = parts.login
    return DashboardContext(
        parts.store,
        parts.registrar,
        login.sessions if login else LoopbackAccess(Role.OPERATOR),
        store_name=redacted(parts.config.store),
        service_url=parts.config.ui_url.removesuffix(DASHBOARD_PATH),
        mirror=parts.feed.mirror,
        has_streams=True,
        has_login=login is not None,
        is_secure=login is not None and login.is_secure,
        check_job=lambda job, now: check_job(job, parts.config, now),
        recorder=ActionAudit(parts),
        quota=TenantQuota(parts.quotas),
    )


class TenantQuota:
    """Quota of manual runs, which people and the API share."""

    def __init__(self, quotas: Quotas) -> None:
        self.quotas = quotas

    def batch_size(self, size: int) -> int:
        """Return how many runs one batch can start."""
        return self.quotas.batch_size(size)

    def spend(self, tenant: str, starts: int) -> None:
        """Count runs."""
        self.quotas.spend(Caller(tenant, "", frozenset()), starts)


class ActionAudit:
    """Writes the changes that people request on the dashboard into the audit log, as the routes of the API do."""

    def __init__(self, parts: AppContext) -> None:
        self.parts = parts

    async def acted(
        self, request: Request, viewer: Viewer | None, fields: Fields, act: Callable[[], Awaitable[Response]]
    ) -> Response:
        """Record a change, make it, record its result, and return its response."""
        values = {
            name: texts if name in SELECTIONS else ", ".join(texts)
            for name, texts in fields.items()
            if name != TOKEN_FIELD
        }
        intent = await self.parts.audit.intend(self._facts(request, viewer), values)
        try:
            response = await act()
        except Exception as error:
            record_result(self.parts, intent, status_of(error))
            raise
        record_result(self.parts, intent, response.status_code)
        return response

    def refused(self, request: Request, viewer: Viewer | None, status: int) -> None:
        """Record a change that was refused."""
        self.parts.audit.refused(self._facts(request, viewer), status)

    def _facts(self, request: Request, viewer: Viewer | None) -> dict[str, Any]:
        address, tenant = address_of(request, self.parts.config.trusted_proxies), request.path_params.get("tenant", "")
        session = viewer.session[:SESSION_ID_LENGTH] if viewer else ""
        caller = Caller(tenant, viewer.name, frozenset(), session, address) if viewer else None
        return facts_of(request, caller, address)
