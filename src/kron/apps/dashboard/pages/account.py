"""Account: who the viewer is, and the tenants of the viewer. Where people sign in, the page also ends the session."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.dashboard.view import View


async def account_page(view: View) -> Response:
    """Return the page."""
    tenants = (view.viewer.tenants if view.viewer else None) or ()
    return view.render("account.html", section="account", tenants=tenants)
