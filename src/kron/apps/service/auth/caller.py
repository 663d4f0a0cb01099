"""Caller: its tenant and scopes. Every route must declare the scope that it needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from kron.apps.service.config import DASHBOARD_PATH
from kron.errors import AccessDenied, InvalidInput, UsageError
from kron.rules.pause import Actor

SCOPES = {
    "schedules:read": "read schedules, runs and outcomes",
    "schedules:write": "define, pause, resume and delete schedules",
    "schedules:run": "trigger and backfill schedules",
    "runs:report": "report the state of a run",
    "runs:launch": "start a workflow through the run launcher",
    "secrets:read": "read the secret that signs webhooks",
    "metrics:read": "read the metrics of the whole service",
}
PUBLIC_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json"})

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,199}", re.ASCII)
TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Caller:
    """Authenticated caller. Every identity starts with the tenant of the token, so no other tenant can be named."""

    tenant: str
    who: str
    scopes: frozenset[str]
    token: str = ""  # id of the token
    address: str = ""

    @property
    def prefix(self) -> str:
        """Prefix of all identities of the tenant."""
        return f"{self.tenant}/" if self.tenant else ""

    def identity(self, schedule_id: str) -> str:
        """Return the identity of a schedule of the tenant."""
        if not NAME.fullmatch(schedule_id):
            hint = "use up to 200 letters, digits and . _ : ~ -, starting with a letter or digit"
            raise InvalidInput("BAD_FIELD", "invalid schedule id", hint=hint)
        return self.prefix + schedule_id

    def owns(self, identity: str) -> bool:
        """Return whether a schedule belongs to the tenant."""
        return identity.startswith(self.prefix)

    def name(self, identity: str) -> str:
        """Return the id of a schedule without the tenant prefix."""
        return identity.removeprefix(self.prefix)

    def actor(self, note: str = "") -> Actor:
        """Return the caller as the actor of a recorded action."""
        return Actor(self.who, note)


class RequireScope:
    """FastAPI dependency that returns the caller if it has the scope."""

    def __init__(self, scope: str) -> None:
        self.scope = scope

    async def __call__(self, request: Request) -> Caller:
        """Return the caller that the route's guard authenticated before it read the body."""
        caller: Caller = request.state.caller
        if self.scope not in caller.scopes:
            raise AccessDenied(
                "FORBIDDEN", f"the token lacks the scope {self.scope}", hint="use a token with this scope"
            )
        return caller


Reader = Annotated[Caller, Depends(RequireScope("schedules:read"))]
Writer = Annotated[Caller, Depends(RequireScope("schedules:write"))]
Runner = Annotated[Caller, Depends(RequireScope("schedules:run"))]
Reporter = Annotated[Caller, Depends(RequireScope("runs:report"))]
Starter = Annotated[Caller, Depends(RequireScope("runs:launch"))]
Keeper = Annotated[Caller, Depends(RequireScope("secrets:read"))]
Watcher = Annotated[Caller, Depends(RequireScope("metrics:read"))]


def scope_of(route: APIRoute) -> str | None:
    """Return the scope of a route; None if it declares none."""
    scopes = [
        dependency.call.scope
        for dependency in route.dependant.dependencies
        if isinstance(dependency.call, RequireScope)
    ]
    return scopes[0] if len(scopes) == 1 else None


def check_routes(routes: list[Any]) -> None:
    """Raise an error if a route declares no scope."""
    for route in routes:
        path = getattr(route, "path", "?")
        if path in PUBLIC_PATHS or (path == DASHBOARD_PATH and not isinstance(route, APIRoute)):
            continue  # each route of the dashboard names a role; /ui itself redirects
        if not isinstance(route, APIRoute) or scope_of(route) not in SCOPES:
            raise UsageError("UNDECLARED", f"the route {path} declares no scope", hint="add a RequireScope dependency")
