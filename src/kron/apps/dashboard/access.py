"""Access: who views the dashboard, and what this person may do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from inspect import isawaitable

from starlette.requests import Request

from kron.apps.browser_request import host_name, is_loopback
from kron.errors import UsageError


class Role(StrEnum):
    """What a viewer may do. An operator may do all that a viewer may."""

    VIEWER = "viewer"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Person who looks at a page.

    Attributes:
        name: Name, as recorded with the actions of this person.
        role: What the person may do.
        tenants: Tenants whose schedules the person may see. None: the store has no tenants.
        session: Text that identifies the session. Tokens against forged requests are bound to it.
        note: Where the person comes from, such as "this machine".
    """

    name: str
    role: Role
    tenants: tuple[str, ...] | None = None
    session: str = ""
    note: str = ""

    @property
    def may_operate(self) -> bool:
        """Whether the person may change something."""
        return self.role is Role.OPERATOR


FORWARDING_HEADERS = frozenset(
    {"forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"}
)
Access = Callable[[Request], Awaitable[Viewer | None]]  # None: the request is refused
Allow = Callable[[Request], object]  # of an application: a role by name, or None; it can be awaitable


class LoopbackAccess:
    """Access for requests of this machine only, without a login.

    A page of another site can make a browser send requests to this machine under a name of its own (DNS rebinding). So
    the name in the request must be one of this machine, too.
    """

    def __init__(self, role: Role, name: str = "") -> None:
        self.viewer = Viewer(name or "local", role, note="this machine")

    async def __call__(self, request: Request) -> Viewer | None:
        """Return the viewer, if the request comes from this machine and is addressed to it."""
        hosts, client = request.headers.getlist("host"), request.client.host if request.client else ""
        return self.viewer_of(hosts, client, request.headers.keys())

    def viewer_of(self, hosts: Sequence[str], client: str, names: Iterable[str]) -> Viewer | None:
        """Return the viewer, if the client is this machine and the only Host header names this machine.

        A proxy on this machine passes on requests of others: a request with one of its headers is refused.

        Args:
            hosts: Host headers.
            client: Address of the client.
            names: Names of all headers.
        """
        is_forwarded = any(name.lower() in FORWARDING_HEADERS for name in names)
        is_own = len(hosts) == 1 and is_loopback(host_name(hosts[0])) and is_loopback(client)
        return self.viewer if is_own and not is_forwarded else None


def allowed_by(allow: Allow) -> Access:
    """Return the access that a function of an application decides: `operator`, `viewer`, or None for neither."""

    async def access(request: Request) -> Viewer | None:
        answer = allow(request)
        user = request.user if "user" in request.scope else None
        return viewer_with(await answer if isawaitable(answer) else answer, getattr(user, "display_name", ""))

    return access


def viewer_with(role: object, name: str = "") -> Viewer | None:
    """Return the viewer with a role that an application named; None for no role.

    Raises:
        UsageError: There is no such role.
    """
    if role is None or role is False:
        return None
    if role not in tuple(Role):
        message = f"`allow` returned {role!r}, which is no role"
        raise UsageError("BAD_OPTION", message, hint='return "operator", "viewer" or None')
    return Viewer(name or "application", Role(str(role)))
