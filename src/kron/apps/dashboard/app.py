"""Application: the pages of the dashboard, for one path of a web server."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from kron.apps.dashboard.actions import backfill, bulk, edit, pause, resume, run_again, run_now
from kron.apps.dashboard.bulk_request import KINDS
from kron.apps.dashboard.context import DashboardContext
from kron.apps.dashboard.pages import (
    account,
    activity,
    calendar,
    calendar_file,
    load,
    overview,
    run,
    runs,
    schedule,
    schedules,
    stream,
    try_it,
    zone,
)
from kron.apps.dashboard.route import action, page
from kron.apps.dashboard.security_headers import SecurityHeaders
from kron.apps.dashboard.static_files import static_file


def make_dashboard(context: DashboardContext, login_routes: Sequence[Route] = ()) -> ASGIApp:
    """Return the dashboard as an ASGI application, which a web server or an application mounts at any path."""
    files = Route("/static/{digest}/{name:path}", static_file)
    pages = [*page_routes("/t/{tenant}"), *page_routes()]  # a link with a tenant never opens another one
    app = Starlette(routes=[files, *login_routes, *pages])
    app.router.redirect_slashes = False
    app.state.context = context
    return SecurityHeaders(app)  # outside of everything, so that errors have the headers too


def page_routes(prefix: str = "") -> list[Route]:
    """Return the routes of all pages and actions, under a prefix."""
    one = f"{prefix}/schedules/{{name}}"
    return [
        page(f"{prefix}/", overview.overview_page),
        page(f"{prefix}/schedules", schedules.schedules_page),
        page(f"{prefix}/runs", runs.runs_page),
        page(f"{prefix}/activity", activity.activity_page),
        *(page(f"{prefix}/bulk/{kind}", bulk.bulk_page(kind)) for kind in KINDS),
        *(action(f"{prefix}/bulk/{kind}", bulk.bulk(kind)) for kind in KINDS),
        page(f"{one}/edit", edit.edit_page),
        action(f"{one}/edit", edit.edit),
        page(f"{one}/pause", pause.pause_page),
        action(f"{one}/pause", pause.pause),
        page(f"{one}/resume", resume.resume_page),
        action(f"{one}/resume", resume.resume),
        page(f"{one}/run", run_now.run_now_page),
        action(f"{one}/run", run_now.run_now),
        page(f"{one}/backfill", backfill.backfill_page),
        action(f"{one}/backfill", backfill.backfill),
        page(f"{prefix}/runs/{{key}}/again", run_again.run_again_page),
        action(f"{prefix}/runs/{{key}}/again", run_again.run_again),
        page(one, schedule.schedule_page),
        page(f"{prefix}/runs/{{key}}", run.run_page),
        page(f"{prefix}/calendar", calendar.calendar_page),
        page(f"{prefix}/calendar.ics", calendar_file.calendar_file),
        page(f"{prefix}/load", load.load_page),
        page(f"{prefix}/try", try_it.try_page, role=None),
        page(f"{prefix}/account", account.account_page, role=None),
        page(f"{prefix}/stream", stream.stream),
        page(f"{prefix}/changes", stream.changes),
        action(f"{prefix}/zone", zone.choose_zone, role=None),
    ]
