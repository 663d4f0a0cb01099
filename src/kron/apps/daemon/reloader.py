"""Reloader: keeps the jobs of the store equal to the tables of the folders.

A table with a problem changes nothing: the jobs that it defined before stay in force. Other tables are used. Only a
users' table whose user is gone loses its jobs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from kron.apps.daemon.installation import Installation
from kron.apps.daemon.notice import Notice
from kron.apps.daemon.service_manager import ServiceManager
from kron.apps.host.tables import Table, TableFolder
from kron.apps.plural import plural
from kron.engine.clock import SystemClock
from kron.engine.events import Event, Sink
from kron.errors import KronError, LanguageError

SCAN_SECONDS = 60.0  # between two scans without a notice of a change
MISSING_SECONDS = 1.0  # between two scans of a folder that does not exist, so that nothing can be noticed
QUIET_SECONDS = 0.2  # without a change, after which the folder is read
MAX_QUIET_WAITS = 25  # a folder that changes all the time is read nevertheless
MAX_LOGGED_PROBLEMS = 10  # of one table
MAX_LOGGED_NAMES = 100


class Reloader:
    """Reader of folders of tables. `notify` is called after the jobs have changed."""

    def __init__(
        self,
        folders: Sequence[TableFolder],
        installation: Installation,
        sink: Sink,
        manager: ServiceManager,
        notify: Callable[[], None],
    ) -> None:
        self.folders, self.installation, self.sink = folders, installation, sink
        self.manager, self.notify = manager, notify
        self.read: dict[str, Table] = {}  # tables as they were last read, by path
        self.ignored = frozenset[str]()
        self.looked: int | None = None  # when this daemon or the one before it looked at the tables, in milliseconds
        self.changed, self.loading = asyncio.Event(), asyncio.Lock()
        self.troubles: dict[str, KronError | OSError] = {}  # why folders could not be read, by path
        self.notices = [Notice(str(folder.path)) for folder in folders]

    @property
    def refused(self) -> list[str]:
        """Paths of the tables that are not used as they are."""
        return [path for path, table in self.read.items() if table.problems]

    @property
    def summary(self) -> str:
        """State of the tables, in one line."""
        refused = f", {plural(len(self.refused), 'table')} refused" if self.refused else ""
        return f"{plural(len(self.read), 'table')}, {plural(self.installation.count, 'job')}{refused}"

    async def load(self) -> None:
        """Read all tables and install them.

        Raises:
            KronError: A folder cannot be used. Tables of other folders are used.
        """
        async with self.loading:
            await self._load()
        if self.troubles:
            raise next(iter(self.troubles.values()))

    async def _load(self) -> None:
        for notice in self.notices:
            notice.watch()
        began = int(SystemClock().now() * 1000)
        tables = await self._scan()
        changed_tables = [table for path, table in tables.items() if self.read.get(path) is not table]
        missing = [path for path in self.installation.identities if path not in tables and self._is_known(path)]
        if changed_tables or missing:
            self.manager.reloading()
        for table in changed_tables:
            await self._install(table)
        self.looked = began
        for path in missing:
            deleted = await self.installation.remove(path)
            self.sink(Event("table_removed", 0, {"path": path, "deleted": deleted}))
        self.read = {path: table for path, table in self.read.items() if path in tables or not self._is_known(path)}
        if changed_tables or missing:
            self.notify()
            self.manager.ready(self.summary)

    async def _scan(self) -> dict[str, Table]:
        """Return the tables of the folders that can be read."""
        tables, ignored, troubles = dict[str, Table](), list[str](), dict[str, KronError | OSError]()
        for folder in self.folders:
            path = str(folder.path)
            try:
                scan = await asyncio.to_thread(folder.scan)
            except (KronError, OSError) as error:  # its jobs stay as they are, and the next scan tries again
                troubles[path] = error
            else:
                tables |= scan.tables
                ignored += [f"{path}/{name}" for name in scan.ignored]
        self.troubles = troubles
        self._log_ignored(frozenset(ignored))
        return tables

    def _is_known(self, path: str) -> bool:
        """Return whether it is known if a table exists: its folder could be read, or is no longer one of tables."""
        return path.rpartition("/")[0] not in self.troubles

    async def follow(self) -> None:
        """Install changes of the tables until canceled: after a notice or a request, and at regular intervals."""
        loop = asyncio.get_running_loop()
        descriptors = [notice.descriptor for notice in self.notices if notice.descriptor is not None]
        for descriptor in descriptors:
            loop.add_reader(descriptor, self._on_notice)
        try:
            while True:
                is_blind = any(notice.is_blind for notice in self.notices)
                with suppress(TimeoutError):
                    async with asyncio.timeout(MISSING_SECONDS if is_blind else SCAN_SECONDS):
                        await self.changed.wait()
                await self._wait_for_quiet()
                await self.reload()
        finally:
            for descriptor in descriptors:
                loop.remove_reader(descriptor)
            for notice in self.notices:
                notice.close()

    def request(self) -> None:
        """Read the tables soon."""
        self.changed.set()

    def _on_notice(self) -> None:
        if any(notice.drain() for notice in self.notices):
            self.changed.set()

    async def _wait_for_quiet(self) -> None:
        for _ in range(MAX_QUIET_WAITS):
            if not self.changed.is_set():
                break
            self.changed.clear()
            await asyncio.sleep(QUIET_SECONDS)

    async def reload(self) -> None:
        """Read all tables and install them. What is wrong with a folder is logged when it changes."""
        before = {path: _text_of(error) for path, error in self.troubles.items()}
        with suppress(KronError, OSError):
            await self.load()
        for path, error in self.troubles.items():
            if before.get(path) != _text_of(error):
                self.sink(Event("tables_unreadable", 0, {"path": path, "error": _text_of(error)}))

    async def _install(self, table: Table) -> None:
        if table.is_void:
            await self.installation.remove(table.path)
        if table.problems:
            self._log_problems(table)
        else:
            try:
                deleted = await self.installation.install(table, self.looked)
            except KronError as error:  # the store, for example: the next scan tries again
                self._log_problems(table._replace(problems=(error,)))
                return
            facts = {"path": table.path, "jobs": len(table.jobs), "deleted": deleted}
            self.sink(Event("table_loaded", 0, facts))
        self.read[table.path] = table

    def _log_problems(self, table: Table) -> None:
        kept = self.installation.count_in(table.path)
        for problem in table.problems[:MAX_LOGGED_PROBLEMS]:
            facts = {"path": table.path, "code": problem.code, "error": problem.message, "hint": problem.hint}
            if isinstance(problem, LanguageError):
                place = problem.place
                facts |= {"place": place.label, "excerpt": place.excerpt()}
            self.sink(Event("table_refused", 0, {**facts, "problems": len(table.problems), "kept": kept}))

    def _log_ignored(self, ignored: frozenset[str]) -> None:
        """Log the files that are not tables, once each."""
        for path in sorted(ignored - self.ignored)[:MAX_LOGGED_NAMES]:
            self.sink(Event("table_ignored", 0, {"path": path}))
        self.ignored = ignored


def _text_of(error: KronError | OSError) -> str:
    return error.message if isinstance(error, KronError) else str(error)
