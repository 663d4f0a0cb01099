"""The parts that the routes use, put together once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fastapi import Depends, Request

from kron.apps.service.audit import Audit
from kron.apps.service.caller import SCOPES, Caller
from kron.apps.service.config import Config
from kron.apps.service.feed import Feed
from kron.apps.service.guard import Flights
from kron.apps.service.quota import Quotas
from kron.apps.service.throttle import Throttle
from kron.apps.service.working import Working
from kron.clock import SystemTimer
from kron.events import Sink
from kron.launcher import Launcher
from kron.launchers.post import Poster
from kron.launchers.signature import Secrets
from kron.launchers.workflow import RunLauncher, WorkflowStore
from kron.metrics import Metrics
from kron.registrar import Registrar
from kron.store import Store


class Door(Protocol):
    """Says who calls."""

    async def admit(self, request: Request) -> Caller:
        """The caller; UNAUTHENTICATED if he cannot show who he is, KEYS if that cannot be checked now."""

    async def keep(self) -> None:
        """Keep what callers are checked with fresh, until cancelled."""

    @property
    def ready(self) -> bool:
        """Whether callers can be checked."""


class OpenDoor:
    """Lets everyone in: for this machine only. Secrets are not for everyone."""

    ready = True

    async def admit(self, request: Request) -> Caller:
        """Anyone."""
        scopes = frozenset(SCOPES) - {"secrets:read"}
        return Caller("", "anonymous", scopes, address=request.client.host if request.client else "")

    async def keep(self) -> None:
        """There is nothing to keep."""


@dataclass(frozen=True, slots=True)
class Parts:
    """All that the routes use."""

    config: Config
    store: Store
    registrar: Registrar
    door: Door
    quotas: Quotas
    audit: Audit
    secrets: Secrets
    metrics: Metrics
    sink: Sink
    feed: Feed
    launchers: Mapping[str, Launcher]
    working: Working
    starter: RunLauncher | None = None
    workflows: WorkflowStore | None = None
    flights: Flights = field(default_factory=Flights)
    refusals: Throttle = field(default_factory=lambda: Throttle(SystemTimer(), 30))  # that are logged in a minute
    posters: tuple[Poster, ...] = ()  # which keep connections


async def _parts(request: Request) -> Parts:  # async, since all that is not runs in a thread
    parts: Parts = request.app.state.parts
    return parts


Used = Depends(_parts)
