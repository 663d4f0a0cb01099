"""Application: the pages of the dashboard, for one path of a web server."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from kron.apps.dashboard.context import DashboardContext
from kron.apps.dashboard.pages import overview, schedule, try_it, zone
from kron.apps.dashboard.route import action, page
from kron.apps.dashboard.security_headers import SecurityHeaders
from kron.apps.dashboard.static_files import static_file


def make_dashboard(context: DashboardContext) -> Starlette:
    """Return the dashboard as an ASGI application, which a web server or an application mounts at any path."""
    files = Route("/static/{digest}/{name:path}", static_file)
    routes = [files, *page_routes("/t/{tenant}"), *page_routes()]  # a link with a tenant never opens another one
    app = Starlette(routes=routes, middleware=[Middleware(SecurityHeaders)])
    app.router.redirect_slashes = False
    app.state.context = context
    return app


def page_routes(prefix: str = "") -> list[Route]:
    """Return the routes of all pages and actions, under a prefix."""
    return [
        page(f"{prefix}/", overview.overview_page),
        page(f"{prefix}/schedules/{{name:path}}", schedule.schedule_page),
        page(f"{prefix}/try", try_it.try_page, role=None),
        action(f"{prefix}/zone", zone.choose_zone, role=None),
    ]
