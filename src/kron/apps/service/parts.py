"""The parts that the routes use, put together once."""

from __future__ import annotations

import os
import secrets
import socket
import sys
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
from kron.clock import SystemClock, SystemTimer
from kron.events import Sink, all_of
from kron.launcher import Launcher
from kron.launchers.post import Poster
from kron.launchers.signature import Secrets
from kron.launchers.workflow import RunLauncher, WorkflowStore
from kron.log import log_to
from kron.metrics import Metrics
from kron.registrar import Registrar
from kron.settings import Settings
from kron.store import Store
from kron.worker import Worker


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
    starter: RunLauncher | None = None
    workflows: WorkflowStore | None = None
    flights: Flights = field(default_factory=Flights)
    refusals: Throttle = field(default_factory=lambda: Throttle(SystemTimer(), 30))  # that are logged in a minute
    beats: dict[str, int] = field(default_factory=dict)  # when the worker made its last pass
    posters: tuple[Poster, ...] = ()  # which keep connections


def worker_of(parts: Parts) -> Worker:
    """A worker with a name that no other ever had."""
    config = parts.config
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    settings = Settings(tick=config.tick_ms, lookahead=config.lookahead_ms, sends=config.sends)
    timer, clock = SystemTimer(), SystemClock()
    return Worker(parts.store, parts.launchers, timer, owner=owner, settings=settings, sink=parts.sink, clock=clock)


def sink_of(config: Config, metrics: Metrics) -> Sink:
    """Who hears what happens: the metrics, and the log."""
    return all_of(metrics, log_to(sys.stderr.write)) if config.log else metrics


async def _parts(request: Request) -> Parts:  # async, since all that is not runs in a thread
    parts: Parts = request.app.state.parts
    return parts


Used = Depends(_parts)
