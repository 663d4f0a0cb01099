"""Who calls, for which tenant, and what he may do. A route says which scope it needs; one that does not, cannot be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from kron.errors import KronError
from kron.pause import Asker

SCOPES = {
    "schedules:read": "see schedules, their runs and why",
    "schedules:write": "define, pause, resume and delete schedules",
    "schedules:run": "trigger and backfill",
    "runs:report": "say what became of a run",
    "runs:launch": "start a workflow through the run launcher",
    "secrets:read": "read the secret that webhooks are signed with",
    "metrics:read": "read the metrics of the whole service",
}
OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,199}", re.ASCII)
TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller whose token was checked. The tenant is part of every name that he says, and he cannot say another."""

    tenant: str
    who: str
    scopes: frozenset[str]
    token: str = ""  # the id of his token
    address: str = ""

    @property
    def prefix(self) -> str:
        """What the identities of his tenant begin with."""
        return f"{self.tenant}/" if self.tenant else ""

    def identity(self, schedule_id: str) -> str:
        """The identity of a schedule of his tenant."""
        if not NAME.fullmatch(schedule_id):
            hint = "up to 200 letters, digits and . _ : ~ -, beginning with a letter or digit"
            raise KronError("BAD_FIELD", "this cannot be the id of a schedule", hint=hint)
        return self.prefix + schedule_id

    def owns(self, identity: str) -> bool:
        """Whether a schedule is his tenant's."""
        return identity.startswith(self.prefix)

    def name(self, identity: str) -> str:
        """The id of a schedule, as he knows it."""
        return identity.removeprefix(self.prefix)

    def asks(self, note: str = "") -> Asker:
        """Who asks, for the record."""
        return Asker(self.who, note)


class Needs:
    """A dependency: the caller, if he has the scope."""

    def __init__(self, scope: str) -> None:
        self.scope = scope

    async def __call__(self, request: Request) -> Caller:
        """The caller that the guard of the route has let in, before it read the body."""
        caller: Caller = request.state.caller
        if self.scope not in caller.scopes:
            raise KronError("FORBIDDEN", f"this needs the scope {self.scope}", hint="ask for a token that has it")
        return caller


Reader = Annotated[Caller, Depends(Needs("schedules:read"))]
Writer = Annotated[Caller, Depends(Needs("schedules:write"))]
Runner = Annotated[Caller, Depends(Needs("schedules:run"))]
Reporter = Annotated[Caller, Depends(Needs("runs:report"))]
Starter = Annotated[Caller, Depends(Needs("runs:launch"))]
Keeper = Annotated[Caller, Depends(Needs("secrets:read"))]
Watcher = Annotated[Caller, Depends(Needs("metrics:read"))]


def scope_of(route: APIRoute) -> str | None:
    """The scope that a route needs; None if it says none."""
    found = [each.call.scope for each in route.dependant.dependencies if isinstance(each.call, Needs)]
    return found[0] if len(found) == 1 else None


def check_routes(routes: list[Any]) -> None:
    """Refuse to start with a route that says no scope."""
    for route in routes:
        path = getattr(route, "path", "?")
        if path in OPEN:
            continue
        if not isinstance(route, APIRoute) or scope_of(route) not in SCOPES:
            raise KronError("UNDECLARED", f"the route {path} says no scope", hint="let it depend on one caller")
