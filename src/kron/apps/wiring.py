"""Wiring by name: a store from its URL, a launcher from the scheme of a target."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from contextvars import copy_context
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kron.apps.redacted import redacted
from kron.engine.clock import Clock, SystemClock, SystemTimer
from kron.engine.events import Sink, silent
from kron.engine.launcher import Launch, Launcher, Tell
from kron.engine.report_writer import ReportWriter
from kron.engine.store import Store
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import InvalidSetting, NotFound
from kron.launchers.python import PythonLauncher
from kron.rules.excerpt import excerpt_of_error
from kron.rules.launch_result import Report
from kron.stores.presets import BUILT_IN, Presets

if TYPE_CHECKING:
    from kron.launchers.command.launcher import CommandLauncher

POSTGRES = ("postgresql", "postgres")
MAX_REPORT_RETRY_SECONDS = 86_400.0  # seconds for which recording the end of a run is retried: longer than any lease
HEARTBEAT_RETRY_SECONDS = 300.0  # seconds for which a heartbeat is retried: about until the next one
log = logging.getLogger("kron.wiring")


@asynccontextmanager
async def open_store(url: str, clock: Clock | None = None, presets: Presets = BUILT_IN) -> AsyncIterator[Store]:
    """Open the store of a URL: `memory:`, `sqlite:PATH` or `postgresql://HOST/DATABASE`.

    Args:
        url: Store URL.
        clock: Clock of the store; None for the system clock.
        presets: Policies that supply what the authors of schedules left open: the settings of this process.
    """
    scheme, _, path = check_url(url).partition(":")
    if scheme == "memory":
        from kron.stores.memory import MemoryStore

        yield MemoryStore(clock or SystemClock())
    elif scheme == "sqlite" and path:
        from kron.stores.sqlite import SqliteStore

        store = SqliteStore(path, clock or SystemClock(), presets=presets)
        try:
            yield store
        finally:
            await store.close()
    elif scheme in POSTGRES:
        postgres_store = _postgres().PostgresStore(url, clock, presets=presets)
        try:
            yield postgres_store
        finally:
            await postgres_store.close()


def existing(url: str) -> str:
    """Return the URL of a store that is only read. A SQLite file must exist, so that a mistyped name creates none."""
    scheme, _, path = check_url(url).partition(":")
    if scheme == "sqlite" and not Path(path).exists():
        raise InvalidSetting("NO_FILE", f"file {path!r} does not exist", hint="check the path after sqlite:")
    return url


def check_url(url: str) -> str:
    """Return the URL if it is a valid store URL.

    `sqlite:///jobs.db` is rejected, because some programs read it as a relative and others as an absolute path.
    """
    scheme, _, path = url.partition(":") if isinstance(url, str) else ("", "", "")
    if scheme in (*POSTGRES, "memory") or (scheme == "sqlite" and path and not _is_ambiguous(path)):
        return url
    hint = "use sqlite:jobs.db, sqlite:/path/to/file, postgresql://host/database, or memory: (lost on exit)"
    if scheme == "sqlite" and path.startswith("///"):
        file = path.lstrip("/") or "jobs.db"
        hint = f"use sqlite:{file} for a file in the working folder, or sqlite:/{file} for one in the root folder"
    elif scheme == "sqlite" and "?" in path:
        hint = f"use sqlite:{path.partition('?')[0]}: a SQLite store has no parameters"
    elif scheme == "sqlite" and path == ":memory:":
        hint = "use memory:"
    elif scheme.partition("+")[0] in POSTGRES:
        hint = "use postgresql://user@host/database, without a driver"
    raise InvalidSetting("UNKNOWN_STORE", f"{_printable(url)} is not a store URL", hint=hint)


def _is_ambiguous(path: str) -> bool:
    """Return whether programs disagree on a path: `//` and a host, `///` and a relative path, `~`, `?`."""
    host = path.startswith("//") and not path.startswith("////")
    return host or path == ":memory:" or path.startswith("~") or "?" in path


def _printable(url: object) -> str:
    """Return a URL without its password."""
    return repr(redacted(url)) if isinstance(url, str) else repr(url)


async def check_served(url: str) -> None:
    """Raise an error if the tables of a database do not fit this Kron, being too old or too new.

    Other stores check that themselves.
    """
    if url.partition(":")[0] in POSTGRES:
        _postgres()
        from kron.stores.postgres.migrate import check

        await check(url)


def with_notifications(store: Store, notify: Callable[[], None]) -> AbstractAsyncContextManager[None]:
    """Call `notify` inside the context whenever another process requests something, if the store has notifications."""
    subscribe = getattr(store, "with_notifications", None)
    context: AbstractAsyncContextManager[None] = subscribe(notify) if subscribe else nullcontext()
    return context


def durable(url: str) -> str:
    """Return the URL if it is a PostgreSQL URL; raise an error for others."""
    if url.partition(":")[0] not in POSTGRES:
        hint = "use postgresql://user@host/database; other stores need no such maintenance"
        raise InvalidSetting("NOT_POSTGRES", f"{redacted(url)!r} is not a PostgreSQL URL", hint=hint)
    _postgres()
    return url


def launchers(
    store: Store, sink: Sink = silent, *, commands: str = "", kubernetes: bool = False, beat: float | None = None
) -> dict[str, Launcher]:
    """Return the launchers of a command-line worker, by target scheme.

    Args:
        store: Store that records the runs.
        sink: Receives the events of runs whose end the launchers report.
        commands: Journal folder of a worker that runs host commands; empty for none. Commands that earlier workers left
            running there are tracked from now on.
        kubernetes: Whether to create Kubernetes Jobs.
        beat: Seconds between two checks whether other workers of this host left commands; None for the default.
    """
    reports = ReportWriter(store, sink)  # batched, because many runs can end at once

    async def report(launch: Launch, result: Report, error: BaseException | None) -> None:
        policy, excerpt = launch.job.schedule.policy, excerpt_of_error(error)
        await reports.write(launch.run.key, result, launch.run.attempt, policy=policy, excerpt=excerpt)

    async def nothing(launch: Launch) -> None:
        """Finish at once."""

    launchers_by_scheme: dict[str, Launcher] = {
        "python": PythonLauncher({"pass": nothing}.get, report, lambda: ["pass"])
    }
    if commands:
        launchers_by_scheme["command"] = _commands(store, sink, commands, beat)
    if kubernetes:
        launchers_by_scheme["kubernetes"] = _kubernetes(store, sink)
    return launchers_by_scheme


def _commands(store: Store, sink: Sink, folder: str, beat: float | None) -> Launcher:
    if not Path("/proc/self/stat").exists():
        message = "host commands need Linux, because Kron identifies processes by /proc"
        raise InvalidSetting(
            "NEEDS_LINUX", message, hint="run `kron worker --command-journal` on Linux; other targets work everywhere"
        )
    from kron.launchers.command.cgroup import delegated_folder
    from kron.launchers.command.journal import Journal
    from kron.launchers.command.launcher import POLL_SECONDS, CommandLauncher

    report, cgroups = _reporter(store, sink), delegated_folder()
    try:
        launcher = CommandLauncher(Journal(folder), report, beat=beat or POLL_SECONDS, cgroup_folder=cgroups)
    except OSError as error:
        message = f"the command journal {folder!r} cannot be used: {error.strerror}"
        raise InvalidSetting("CONFIG", message, hint="use a folder that this user can write to") from None
    copy_context().run(_adopt, launcher)
    return launcher


def _adopt(launcher: CommandLauncher) -> None:
    """Follow the commands of earlier workers. They belong to all tenants."""
    set_tenant_scope(ALL_TENANTS)
    launcher.adopt()


def _reporter(store: Store, sink: Sink) -> Tell:
    """Return the function with which commands and Jobs report.

    Heartbeats are sent in the background; the end of a run is retried until it is recorded.
    """
    reports, heartbeats = ReportWriter(store, sink, SystemTimer()), dict[str, asyncio.Task[None]]()

    async def write(
        key: str, report: Report, longest: float, code: int | None = None, excerpt: str = "", ended: int | None = None
    ) -> None:
        def log_failure(error: Exception) -> None:
            log.warning("run %s is %s; recording it failed and is retried: %s", key, report, error)

        try:
            await reports.write(
                key, report, longest=longest, failed=log_failure, code=code, excerpt=excerpt, ended=ended
            )
        except NotFound:
            log.warning("run %s is %s, but it no longer exists in the store", key, report)

    async def send_heartbeat(key: str) -> None:
        try:
            await write(key, Report.STARTED, HEARTBEAT_RETRY_SECONDS)
        except Exception as error:  # the next heartbeat tries again
            log.warning("heartbeat of run %s failed: %s", key, error)
        finally:
            heartbeats.pop(key, None)

    async def send_report(
        key: str, report: Report, code: int | None = None, excerpt: str = "", ended: int | None = None
    ) -> None:
        if report is not Report.STARTED:
            if key in heartbeats:
                heartbeats[key].cancel()  # the run has ended, so its heartbeat is obsolete
            await write(key, report, MAX_REPORT_RETRY_SECONDS, code, excerpt, ended)
        elif key not in heartbeats:  # in the background: the caller must observe the time limit of the run
            heartbeats[key] = asyncio.create_task(send_heartbeat(key))

    return send_report


def _kubernetes(store: Store, sink: Sink) -> Launcher:
    """Return the launcher of Jobs in the cluster of this worker, or in the one that its kubeconfig names."""
    try:
        from lightkube import AsyncClient
        from lightkube.core.exceptions import ConfigError

        from kron.launchers.kubernetes import KubernetesLauncher
    except ImportError as error:
        message = f"Kubernetes targets need lightkube: {error}"
        raise InvalidSetting("MISSING_PACKAGE", message, hint="run pip install 'kron-py[kubernetes]'") from error
    try:
        return KubernetesLauncher(AsyncClient(), _reporter(store, sink))
    except ConfigError as error:
        raise InvalidSetting(
            "NO_CLUSTER", f"no Kubernetes cluster configured: {error}", hint="set KUBECONFIG, or run inside a cluster"
        ) from error


def _postgres() -> Any:
    """Import the PostgreSQL store, which needs psycopg."""
    try:
        return import_module("kron.stores.postgres")
    except ImportError as error:
        message = f"PostgreSQL stores need psycopg: {error}"
        raise InvalidSetting("MISSING_PACKAGE", message, hint="run pip install 'kron-py[postgres]'") from error
