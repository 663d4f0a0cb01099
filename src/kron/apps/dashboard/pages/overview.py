"""Overview page: is anything wrong now, and what comes next."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.dashboard.view import View


async def overview_page(view: View) -> Response:
    """Return the page."""
    workers = await view.panel(view.overview.workers())
    return view.render("overview.html", section="", workers=workers)
