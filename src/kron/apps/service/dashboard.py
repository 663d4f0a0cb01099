"""Dashboard of the service, at `/ui`."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from kron.apps.dashboard.access import LoopbackAccess, Role
from kron.apps.dashboard.app import make_dashboard
from kron.apps.dashboard.context import DashboardContext
from kron.apps.redacted import redacted
from kron.apps.service.auth.caller import DASHBOARD_PATH
from kron.apps.service.config import Config
from kron.apps.service.context import AppContext
from kron.apps.service.schemas.definition import check_job


def mount_dashboard(app: FastAPI, config: Config) -> None:
    """Mount the dashboard, if the settings ask for it. It needs no login where the API needs no token."""
    if config.ui and config.auth == "none":
        app.mount(DASHBOARD_PATH, ServiceDashboard(app))


class ServiceDashboard:
    """Dashboard that uses the store and the registrar of the service, which are opened when the service starts."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._pages: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if self._pages is None:
            parts: AppContext = self.app.state.parts
            access, name = LoopbackAccess(Role.OPERATOR), redacted(parts.config.store)
            mirror = parts.feed.mirror
            context = DashboardContext(
                parts.store,
                parts.registrar,
                access,
                store_name=name,
                mirror=mirror,
                has_streams=True,
                check_job=lambda job, now: check_job(job, parts.config, now),
            )
            self._pages = make_dashboard(context)
        await self._pages(scope, receive, send)
