"""Session: who has signed in, with which role and tenants, until when. It is kept in a sealed cookie."""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from kron.apps.dashboard.access import Role, Viewer
from kron.apps.service.login.sealed_cookie import MAX_COOKIE_LENGTH, SealedCookie
from kron.engine.clock import Clock
from kron.errors import AccessDenied

SESSION_SECONDS = 8 * 3_600  # from the login; activity does not prolong it
MAX_ENDED_SESSIONS = 10_000  # ended sessions that a process remembers until they expire


class Person(NamedTuple):
    """Person, as the provider names it.

    Attributes:
        name: Name that actions record.
        role: What the person may do.
        tenants: Tenants of the person; None if the service has no tenants.
    """

    name: str
    role: Role
    tenants: tuple[str, ...] | None


class Sessions:
    """Sessions of a service. The cookie holds a session, so that every process of the service can read it."""

    def __init__(self, cookie: SealedCookie, clock: Clock) -> None:
        self.cookie, self.clock = cookie, clock
        self._ended: dict[str, float] = {}  # expiry by session id, oldest first

    async def __call__(self, request: Request) -> Viewer | None:
        """Return the viewer of a request; None without a valid session."""
        return self._viewer(self.cookie.read(request))

    def start(self, response: Response, person: Person) -> None:
        """Start a session with a new id.

        Raises:
            AccessDenied: The person has more tenants than a cookie can hold.
        """
        value = {
            "id": secrets.token_urlsafe(18),
            "name": person.name,
            "role": person.role.value,
            "tenants": person.tenants,
            "expires": int(self.clock.now()) + SESSION_SECONDS,
        }
        text = self.cookie.sealed(value)
        if len(text) > MAX_COOKIE_LENGTH:
            count = len(person.tenants or ())
            message = f"you are {person.name}, and have {count:,d} tenants, which is too many for one session"
            raise AccessDenied("NO_ROLE", message, hint="ask the administrator to put fewer tenants into the claim")
        self.cookie.write(response, text, SESSION_SECONDS)

    def end(self, request: Request, response: Response) -> None:
        """End the session of a request: the browser forgets it, and this process does not accept a copy of it."""
        value = self.cookie.read(request)
        if value and self._viewer(value):
            while len(self._ended) >= MAX_ENDED_SESSIONS:
                del self._ended[next(iter(self._ended))]
            self._ended[value["id"]] = value["expires"]
        self.cookie.delete(response)

    def _viewer(self, value: dict[str, Any] | None) -> Viewer | None:
        if value is None or value["expires"] <= self.clock.now() or value["id"] in self._ended:
            return None
        tenants = None if value["tenants"] is None else tuple(value["tenants"])
        return Viewer(value["name"], Role(value["role"]), tenants, value["id"])
