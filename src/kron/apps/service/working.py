"""Parts of a configured worker: launchers, sinks and the worker. `kron serve` and `kron worker` share them."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kron.apps.service.auth.capability import Capabilities
from kron.apps.service.config import Config
from kron.apps.service.observe.readiness import Readiness
from kron.apps.service.observe.tracing import Tracing, trace_headers, tracing
from kron.apps.wiring import launchers
from kron.engine.clock import SystemClock, SystemTimer
from kron.engine.events import Sink, all_of, silent
from kron.engine.launcher import Launcher
from kron.engine.log_writer import LogWriter, log_stream
from kron.engine.metrics import Metrics
from kron.engine.settings import Settings
from kron.engine.store import Store
from kron.engine.target_limit import read_limits
from kron.engine.worker import Worker
from kron.errors import InvalidSetting
from kron.launchers.address import networks
from kron.launchers.signature import Secrets
from kron.launchers.target import read_url


@dataclass(frozen=True, slots=True)
class Working:
    """Sinks and metrics of a process with a worker."""

    metrics: Metrics
    sink: Sink
    readiness: Readiness
    log: LogWriter | None
    traces: Tracing | None

    def traced(self, launchers_by_scheme: Mapping[str, Launcher]) -> Mapping[str, Launcher]:
        """Return the launchers, wrapped in spans if OpenTelemetry is installed."""
        traces = self.traces
        return (
            {scheme: traces.around(launcher) for scheme, launcher in launchers_by_scheme.items()}
            if traces
            else launchers_by_scheme
        )


def settings_of(config: Config) -> Settings:
    """Return the settings of the engine's worker."""
    return Settings(
        tick=config.tick_ms,
        lookahead=config.lookahead_ms,
        batch=config.batch,
        max_concurrent_launches=config.max_concurrent_launches,
        target_limits=read_limits(config.target_limits),
        breaker_failures=config.breaker_failures,
        breaker_hold=config.breaker_hold_ms,
        breaker_max_hold=config.breaker_max_hold_ms,
        shard_lease=config.shard_lease_ms,
        leader_election=config.leader_election,
        max_clock_skew=config.max_clock_skew_ms,
    )


def make_worker(config: Config, store: Store, launchers_by_scheme: Mapping[str, Launcher], working: Working) -> Worker:
    """Return a worker with a unique name."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    return Worker(
        store,
        launchers_by_scheme,
        SystemTimer(),
        owner=owner,
        settings=settings_of(config),
        sink=working.sink,
        clock=SystemClock(),
    )


def make_working(config: Config, *more: Sink) -> Working:
    """Return the sinks of a process. `more` also receives its events."""
    metrics, readiness = Metrics(), Readiness(SystemTimer(), config.shard_lease_ms)
    sinks: list[Sink] = [metrics, readiness, *more]
    log = None
    if config.log_events:
        sink, log = log_stream(sys.stderr, config.log_format, config.log_level, metrics.drop)
        sinks.append(sink)
    traces = tracing()
    if traces:
        sinks.append(traces)
    return Working(metrics, all_of(*sinks), readiness, log, traces)


@dataclass(frozen=True, slots=True)
class Targets:
    """Launchers that the settings of a process allow, and the parts they use."""

    launchers: Mapping[str, Launcher]
    secrets: Secrets
    capabilities: Capabilities
    workflows: Any = None  # workflow store
    starter: Any = None  # loads DAGs and sends them to the executor
    posters: tuple[Any, ...] = ()  # senders that keep connections open

    def close(self) -> None:
        """Close the open connections."""
        for poster in self.posters:
            poster.close()


def targets_of(config: Config, store: Store, sink: Sink = silent) -> Targets:
    """Return the launchers that the settings allow, by target scheme.

    `sink` receives the events of runs that end by a report of a command, a Job or a function.
    """
    launchers_by_scheme = launchers(store, sink, commands=config.command_journal, kubernetes=config.kubernetes)
    webhook_secrets = Secrets(config.webhook_secret, tenanted=bool(config.tenant_claim))
    seconds = config.run_lease_ms // 1000
    capabilities = Capabilities(
        Secrets(config.report_secret), webhook_secrets.tenant_of, config.public_url, seconds, SystemClock()
    )
    workflows, starter, posters = _workflows(config, store), None, list[Any]()
    if webhook_secrets:
        http, post = _http()
        posters.append(post.Poster(allowed=networks(config.webhook_allowed_networks)))
        plain, grant = config.webhook_allow_plain_http, capabilities.grant
        webhooks = http.HttpLauncher(webhook_secrets, posters[0], plain=plain, capability=grant, carried=trace_headers)
        launchers_by_scheme |= {"https": webhooks, "http": webhooks}
    if workflows is not None and config.executor_url:
        from kron.launchers.workflow import HttpExecutor, RunLauncher, WorkflowLauncher

        all_networks = networks(("0.0.0.0/0", "::/0"))  # no restriction: the operator configures the executor
        posters.append(_http()[1].Poster(allowed=all_networks))
        starter = RunLauncher(
            workflows, HttpExecutor(read_url(config.executor_url, plain=True), posters[-1], webhook_secrets)
        )
        launchers_by_scheme["workflow"] = WorkflowLauncher(starter, webhook_secrets)
    return Targets(launchers_by_scheme, webhook_secrets, capabilities, workflows, starter, tuple(posters))


def _workflows(config: Config, store: Store) -> Any:
    """Return the workflow store: next to the schedules, in a folder, or None."""
    if not config.workflow_store:
        return None
    if config.workflow_store != "store:":
        from kron.launchers.workflow import WorkflowFolder

        return WorkflowFolder(config.workflow_store)
    in_store: Callable[[], Any] | None = getattr(store, "workflows", None)
    if in_store is None:
        hint = "use a PostgreSQL STORE, or set WORKFLOW_STORE to a folder"
        raise InvalidSetting("CONFIG", "the setting WORKFLOW_STORE 'store:' needs a PostgreSQL store", hint=hint)
    return in_store()


def _http() -> tuple[Any, Any]:
    """Import the modules that send webhooks; their packages are an optional extra."""
    try:
        from kron.launchers import http, post
    except ImportError as error:
        message = f"webhooks need a package that is not installed: {error.name}"
        raise InvalidSetting("MISSING_PACKAGE", message, hint="run pip install 'kron-py[service]'") from None
    return http, post
