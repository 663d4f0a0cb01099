"""Pages of the login: sign in, the way back from the provider, and sign out. They need no session."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import Response
from starlette.routing import Route

from kron.apps.dashboard.form import Fields
from kron.apps.dashboard.route import action, page, signed_out_error
from kron.apps.dashboard.view import View
from kron.apps.service.auth.signed_token import Refused
from kron.apps.service.config import DASHBOARD_PATH, Config
from kron.apps.service.login.code_flow import LOGIN_SECONDS, CodeFlow, login_error
from kron.apps.service.login.own_path import own_path
from kron.apps.service.login.person import person_of
from kron.apps.service.login.sealed_cookie import SealedCookie
from kron.apps.service.login.session import Person, Sessions

HOME = f"{DASHBOARD_PATH}/"


class LoginPages:
    """Pages of the login.

    Attributes:
        pending: Cookie of a login that has begun.
    """

    def __init__(self, config: Config, flow: CodeFlow, sessions: Sessions, pending: SealedCookie) -> None:
        self.config, self.flow, self.sessions, self.pending = config, flow, sessions, pending

    def routes(self) -> list[Route]:
        """Return the routes. With tenants, the bare address of the dashboard leads to the first tenant."""
        home = [page("/", self.home, role=None, is_public=True)] if self.config.tenant_claim else []
        return [
            *home,
            page("/login", self.login, role=None, is_public=True),
            page("/callback", self.callback, role=None, is_public=True),
            action("/logout", self.logout, role=None, is_public=True),
            page("/leaving", self.leaving, role=None, is_public=True),
            page("/signed-out", self.signed_out, role=None, is_public=True),
        ]

    async def home(self, view: View) -> Response:
        """Open the first tenant of the viewer."""
        if view.viewer is None:
            raise signed_out_error()
        return view.redirect(_home(view.viewer.tenants))

    async def login(self, view: View) -> Response:
        """Send the browser to the provider."""
        query = view.request.query_params
        address, facts = self.flow.begin(own_path(query.get("next", "")), is_other_person="other" in query)
        response = view.redirect(address)
        self.pending.write(response, self.pending.sealed(facts), LOGIN_SECONDS)
        return response

    async def callback(self, view: View) -> Response:
        """Start a session for the person whom the provider names, and open the page from which the login began."""
        facts = self.pending.read(view.request)
        claims = await self.flow.finish(view.request.query_params, facts)
        person = self._person(claims)
        address = facts["address"] if facts else HOME
        response = view.redirect(_home(person.tenants) if address == HOME else address)
        self.pending.delete(response)
        self.sessions.start(response, person)
        return response

    async def logout(self, view: View, fields: Fields) -> Response:
        """End the session."""
        response = view.redirect(f"{HOME}leaving")
        self.sessions.end(view.request, response)
        return response

    async def leaving(self, view: View) -> Response:
        """Send the browser to the page that ends the session at the provider, if the provider has one.

        The answer to a form cannot do that: the policy of the pages lets a form lead to this site only.
        """
        endpoint = self.flow.provider.endpoints().end_session
        if view.viewer or not endpoint:
            return view.redirect(HOME if view.viewer else f"{HOME}signed-out")
        back = f"{self.config.ui_url}/signed-out"
        query = {"client_id": self.config.ui_client_id, "post_logout_redirect_uri": back}
        return view.render("leaving.html", address=f"{endpoint}?{urlencode(query)}")

    async def signed_out(self, view: View) -> Response:
        """Return the page after a session."""
        return view.redirect(HOME) if view.viewer else view.render("signed_out.html")

    def _person(self, claims: dict[str, Any]) -> Person:
        try:
            return person_of(claims, self.config)
        except Refused as refused:
            raise login_error(str(refused), f"UI_NAME_CLAIM is {self.config.ui_name_claim}") from None


def _home(tenants: tuple[str, ...] | None) -> str:
    return f"{HOME}t/{quote(tenants[0], safe='')}/" if tenants else HOME
