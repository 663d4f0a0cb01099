"""Wires parts together by name: a store by its URL, a launcher by the scheme of a target."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from kron.apps.redacted import redacted
from kron.clock import Clock, SystemClock, SystemTimer
from kron.core.answer import Report
from kron.errors import KronError
from kron.events import Sink, silent
from kron.launcher import Launch, Launcher, Tell
from kron.launchers.python import PythonLauncher
from kron.registrar import Registrar
from kron.reports import Reports
from kron.retrying import until_written
from kron.store import Store
from kron.stores.presets import BUILT_IN, Presets

POSTGRES = ("postgresql", "postgres")
LONGEST = 86_400.0  # seconds for which the end of a run is tried again: longer than any lease
BEAT = 300.0  # and that it is going: until the next beat or so
log = logging.getLogger("kron.wiring")


@asynccontextmanager
async def open_store(url: str, clock: Clock | None = None, presets: Presets = BUILT_IN) -> AsyncIterator[Store]:
    """The store of a URL: `memory:`, `sqlite:` and the path of a file, or `postgresql://` and where it is.

    `presets` are the policies that fill in what the authors of schedules left open: the settings of this process.
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
        server = _postgres().PostgresStore(url, clock, presets=presets)
        try:
            yield server
        finally:
            await server.close()


def existing(url: str) -> str:
    """Return the URL of a store that is only read: a file must exist, so that a mistyped name creates none."""
    scheme, _, path = check_url(url).partition(":")
    if scheme == "sqlite" and not Path(path).exists():
        raise KronError("NO_FILE", f"file {path!r} does not exist", hint="check the path after sqlite:")
    return url


def check_url(url: str) -> str:
    """The URL of a store, if it can be one. `sqlite:///jobs.db` is refused: it means two files, by whom you ask."""
    scheme, _, path = url.partition(":") if isinstance(url, str) else ("", "", "")
    if scheme in (*POSTGRES, "memory") or (scheme == "sqlite" and path and not _misread(path)):
        return url
    hint = "write sqlite:jobs.db, sqlite:/path/of/the/file, postgresql://host/database, or memory: for one that forgets"
    if scheme == "sqlite" and path.startswith("///"):
        file = path.lstrip("/") or "jobs.db"
        hint = f"write sqlite:{file} for a file in the working folder, or sqlite:/{file} for one in the root folder"
    elif scheme == "sqlite" and "?" in path:
        hint = f"write sqlite:{path.partition('?')[0]}: a SQLite store has no parameters"
    elif scheme == "sqlite" and path == ":memory:":
        hint = "write memory:"
    elif scheme.partition("+")[0] in POSTGRES:
        hint = "write postgresql://user@host/database, without a driver"
    raise KronError("UNKNOWN_STORE", f"{_shown(url)} is not the URL of a store", hint=hint)


def _misread(path: str) -> bool:
    """Whether a path means another file to others, or none: `//` and a host, `///` and a relative path, `~`, `?`."""
    host = path.startswith("//") and not path.startswith("////")
    return host or path == ":memory:" or path.startswith("~") or "?" in path


def _shown(url: object) -> str:
    """A URL without its password."""
    return repr(redacted(url)) if isinstance(url, str) else repr(url)


async def check_served(url: str) -> None:
    """Refuse a database whose tables are too old or too new for this Kron; the other stores see to it themselves."""
    if url.partition(":")[0] in POSTGRES:
        _postgres()
        from kron.stores.postgres.migrate import check

        await check(url)


def heeding(store: Store, heard: Callable[[], None]) -> AbstractAsyncContextManager[None]:
    """While it lasts, who rests is woken by who asks for something in another process, if the store can tell."""
    hear = getattr(store, "heeding", None)
    found: AbstractAsyncContextManager[None] = hear(heard) if hear else nullcontext()
    return found


def durable(url: str) -> str:
    """A URL of PostgreSQL; another is refused, with what is known of it."""
    if url.partition(":")[0] not in POSTGRES:
        hint = "write postgresql://user@host/database; the other stores look after themselves"
        raise KronError("NOT_POSTGRES", f"{redacted(url)!r} is not in PostgreSQL", hint=hint)
    _postgres()
    return url


def launchers(
    store: Store, sink: Sink = silent, *, commands: str = "", kubernetes: bool = False
) -> dict[str, Launcher]:
    """The launchers that a worker of the command line has, by the schemes of their targets.

    `commands` is the folder of the journal, for a worker that may run what the schedules say on this host; what workers
    before it have left running there is followed from now on. `sink` hears of the runs that they report as ended.
    """
    reports = Reports(store, sink)  # many at once, where many end at once

    async def report(launch: Launch, said: Report, error: BaseException | None) -> None:
        await reports.say(launch, said)

    async def nothing(launch: Launch) -> None:
        """Be done."""

    found: dict[str, Launcher] = {"python": PythonLauncher({"pass": nothing}.get, report, lambda: ["pass"])}
    if commands:
        found["command"] = _commands(store, sink, commands)
    if kubernetes:
        found["kubernetes"] = _kubernetes(store, sink)
    return found


def _commands(store: Store, sink: Sink, folder: str) -> Launcher:
    if not Path("/proc/self/stat").exists():
        message = "host commands need Linux, where /proc tells one process from another"
        raise KronError(
            "NEEDS_LINUX", message, hint="run `kron worker --commands` on Linux; other targets work everywhere"
        )
    from kron.launchers.command import CommandLauncher
    from kron.launchers.journal import Journal

    launcher = CommandLauncher(Journal(folder), _teller(store, sink))
    launcher.adopt()
    return launcher


def _teller(store: Store, sink: Sink) -> Tell:
    """How commands and Jobs report: that they run, beside everything else, and how they ended, until it is written."""
    registrar, beats = Registrar(store, sink), dict[str, asyncio.Task[None]]()

    async def report(key: str, said: Report) -> None:
        try:
            await registrar.report(key, said)
        except KronError as error:
            if error.code != "NOT_FOUND":
                raise

    async def insist(key: str, said: Report, longest: float) -> None:
        def failed(error: Exception) -> None:
            log.warning("run %s is %s, which cannot be recorded yet: %s", key, said, error)

        await until_written(lambda: report(key, said), SystemTimer(), failed=failed, longest=longest)

    async def beat(key: str) -> None:
        try:
            await insist(key, Report.STARTED, BEAT)
        except Exception as error:  # the next beat tries again
            log.warning("run %s could not say that it is going: %s", key, error)
        finally:
            beats.pop(key, None)

    async def tell(key: str, said: Report) -> None:
        if said is not Report.STARTED:
            if key in beats:
                beats[key].cancel()  # it has ended: nobody needs to hear that it was going
            await insist(key, said, LONGEST)
        elif key not in beats:  # nobody waits for it: who follows a run has its time limit to keep
            beats[key] = asyncio.create_task(beat(key))

    return tell


def _kubernetes(store: Store, sink: Sink) -> Launcher:
    """Jobs in the cluster that this worker is in, or that its kubeconfig names."""
    try:
        from lightkube import AsyncClient
        from lightkube.core.exceptions import ConfigError

        from kron.launchers.kubernetes import KubernetesLauncher
    except ImportError as error:
        message = f"Kubernetes needs lightkube: {error}"
        raise KronError("MISSING_PACKAGE", message, hint="pip install 'kron-py[kubernetes]'") from error
    try:
        return KubernetesLauncher(AsyncClient(), _teller(store, sink))
    except ConfigError as error:
        raise KronError(
            "NO_CLUSTER", f"no cluster is known: {error}", hint="set KUBECONFIG, or run inside one"
        ) from error


def _postgres() -> Any:
    """The package of the store in PostgreSQL, which needs psycopg."""
    try:
        return import_module("kron.stores.postgres")
    except ImportError as error:
        message = f"PostgreSQL needs psycopg: {error}"
        raise KronError("MISSING_PACKAGE", message, hint="pip install 'kron-py[postgres]'") from error
