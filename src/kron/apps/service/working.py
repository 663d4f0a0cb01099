"""Parts of a worker with settings: launchers, sinks and the worker. `kron serve` and `kron worker` share them."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kron.apps.service.capability import Capabilities
from kron.apps.service.config import Config
from kron.apps.service.readiness import Readiness
from kron.apps.service.tracing import Tracing, carried, tracing
from kron.apps.wiring import launchers
from kron.clock import SystemClock, SystemTimer
from kron.errors import KronError
from kron.events import Sink, all_of, silent
from kron.launcher import Launcher
from kron.launchers.address import networks
from kron.launchers.signature import Secrets
from kron.launchers.target import read_url
from kron.log_writer import LogWriter, log_stream
from kron.metrics import Metrics
from kron.settings import Settings
from kron.store import Store
from kron.worker import Worker


@dataclass(frozen=True, slots=True)
class Working:
    """What a working process tells of itself, and to whom."""

    metrics: Metrics
    sink: Sink
    readiness: Readiness
    log: LogWriter | None
    traces: Tracing | None

    def traced(self, launching: Mapping[str, Launcher]) -> Mapping[str, Launcher]:
        """Return the launchers, within spans where OpenTelemetry is installed."""
        traces = self.traces
        return {scheme: traces.around(each) for scheme, each in launching.items()} if traces else launching


def settings_of(config: Config) -> Settings:
    """Return the settings of the worker inside."""
    return Settings(
        tick=config.tick_ms,
        lookahead=config.lookahead_ms,
        batch=config.batch,
        sends=config.sends,
        shard_lease=config.shard_lease_ms,
        lead=config.lead,
        skew=config.skew_ms,
    )


def make_worker(config: Config, store: Store, launching: Mapping[str, Launcher], working: Working) -> Worker:
    """Return a worker with a name that no other ever had."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    return Worker(
        store,
        launching,
        SystemTimer(),
        owner=owner,
        settings=settings_of(config),
        sink=working.sink,
        clock=SystemClock(),
    )


def make_working(config: Config, *more: Sink) -> Working:
    """Return the sinks of a process. `more` hears its events too."""
    metrics, readiness = Metrics(), Readiness(SystemTimer(), config.shard_lease_ms)
    sinks: list[Sink] = [metrics, readiness, *more]
    log = None
    if config.log:
        sink, log = log_stream(sys.stderr, config.log_format, config.log_level, metrics.drop)
        sinks.append(sink)
    traces = tracing()
    if traces:
        sinks.append(traces)
    return Working(metrics, all_of(*sinks), readiness, log, traces)


@dataclass(frozen=True, slots=True)
class Targets:
    """What the settings of a process allow it to launch, and with what."""

    launchers: Mapping[str, Launcher]
    secrets: Secrets
    capabilities: Capabilities
    workflows: Any = None  # where DAGs are
    starter: Any = None  # loads DAGs and sends them to the executor
    posters: tuple[Any, ...] = ()  # which keep connections

    def close(self) -> None:
        """Close the connections that are kept."""
        for poster in self.posters:
            poster.close()


def targets_of(config: Config, store: Store, sink: Sink = silent) -> Targets:
    """Return the launchers by the schemes of their targets: those that the settings allow.

    `sink` hears of the runs that end by what commands, Jobs and functions report.
    """
    found = launchers(store, sink, commands=config.commands, kubernetes=config.kubernetes)
    keys = Secrets(config.webhook_secret, tenanted=bool(config.tenant_claim))
    seconds = config.inflight_lease_ms // 1000
    capabilities = Capabilities(
        Secrets(config.report_secret), keys.tenant_of, config.public_url, seconds, SystemClock()
    )
    workflows, starter, posters = _workflows(config, store), None, list[Any]()
    if keys:
        http, post = _http()
        posters.append(post.Poster(allowed=networks(config.webhook_allow)))
        plain, grant = config.webhook_http, capabilities.grant
        webhooks = http.HttpLauncher(keys, posters[0], plain=plain, capability=grant, carried=carried)
        found |= {"https": webhooks, "http": webhooks}
    if workflows is not None and config.executor:
        from kron.launchers.workflow import HttpExecutor, RunLauncher, WorkflowLauncher

        everywhere = networks(("0.0.0.0/0", "::/0"))  # the operator knows where the executor is
        posters.append(_http()[1].Poster(allowed=everywhere))
        starter = RunLauncher(workflows, HttpExecutor(read_url(config.executor, plain=True), posters[-1], keys))
        found["workflow"] = WorkflowLauncher(starter, keys)
    return Targets(found, keys, capabilities, workflows, starter, tuple(posters))


def _workflows(config: Config, store: Store) -> Any:
    """Where DAGs are: next to the schedules, in a folder, or nowhere (None)."""
    if not config.workflows:
        return None
    if config.workflows != "store:":
        from kron.launchers.workflow import WorkflowFolder

        return WorkflowFolder(config.workflows)
    beside: Callable[[], Any] | None = getattr(store, "workflows", None)
    if beside is None:
        hint = "use PostgreSQL as the store, or name a folder"
        raise KronError("CONFIG", "WORKFLOWS cannot be store: here, since this store keeps none", hint=hint)
    return beside()


def _http() -> tuple[Any, Any]:
    """The modules that send webhooks; what they need is an extra."""
    try:
        from kron.launchers import http, post
    except ImportError as error:
        message = f"webhooks need packages that are not here: {error.name}"
        raise KronError("MISSING_PACKAGE", message, hint="pip install 'kron-py[service]'") from None
    return http, post
