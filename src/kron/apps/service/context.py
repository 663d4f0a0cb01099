"""Parts that the routes use, built once per process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fastapi import Depends, Request

from kron.apps.service.auth.audit import Audit
from kron.apps.service.auth.caller import SCOPES, Caller
from kron.apps.service.auth.guard import Flights
from kron.apps.service.auth.throttle import Throttle
from kron.apps.service.config import Config
from kron.apps.service.event_stream import Feed
from kron.apps.service.login.login import Login
from kron.apps.service.quota import Quotas
from kron.apps.service.working import Working
from kron.engine.clock import SystemTimer
from kron.engine.event_relay import EventRelay
from kron.engine.events import Sink
from kron.engine.launcher import Launcher
from kron.engine.metrics import Metrics
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.launchers.post import Poster
from kron.launchers.signature import Secrets
from kron.launchers.workflow import RunLauncher, WorkflowStore


class Authenticator(Protocol):
    """Identifies callers."""

    async def authenticate(self, request: Request) -> Caller:
        """Return the caller.

        Raises:
            AccessDenied: The caller is not authenticated.
            Unavailable: That cannot be checked now.
        """

    async def keep(self) -> None:
        """Keep the verification keys up to date, until canceled."""

    @property
    def ready(self) -> bool:
        """Whether callers can be authenticated."""


class NoAuthenticator:
    """Authenticator that accepts every caller, for loopback addresses only. It grants no access to secrets."""

    ready = True

    async def authenticate(self, request: Request) -> Caller:
        """Anyone."""
        scopes = frozenset(SCOPES) - {"secrets:read"}
        return Caller("", "anonymous", scopes, address=request.client.host if request.client else "")

    async def keep(self) -> None:
        """Do nothing, because there are no keys."""


@dataclass(frozen=True, slots=True)
class AppContext:
    """Parts that the routes use."""

    config: Config
    store: Store
    registrar: Registrar
    authenticator: Authenticator
    quotas: Quotas
    audit: Audit
    secrets: Secrets
    metrics: Metrics
    sink: Sink
    feed: Feed
    relay: EventRelay
    launchers: Mapping[str, Launcher]
    working: Working
    starter: RunLauncher | None = None
    workflows: WorkflowStore | None = None
    login: Login | None = None  # of the dashboard
    flights: Flights = field(default_factory=Flights)
    refusals: Throttle = field(default_factory=lambda: Throttle(SystemTimer(), 30))  # refusals logged per minute
    posters: tuple[Poster, ...] = ()  # senders that keep connections open


async def _parts(request: Request) -> AppContext:  # async, because FastAPI runs plain functions in a thread
    parts: AppContext = request.app.state.parts
    return parts


Used = Depends(_parts)
