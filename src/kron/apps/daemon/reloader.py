"""Reloader: keeps the jobs of the store equal to the tables of a folder.

A table with a problem changes nothing: the jobs that it defined before stay in force. Other tables are used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from kron.apps.daemon.installation import Installation
from kron.apps.daemon.notice import Notice
from kron.apps.daemon.service_manager import ServiceManager
from kron.apps.daemon.tables import Scan, Table, TableFolder
from kron.apps.plural import plural
from kron.engine.events import Event, Sink
from kron.errors import KronError, LanguageError

SCAN_SECONDS = 60.0  # between two scans without a notice of a change
MISSING_SECONDS = 1.0  # between two scans of a folder that does not exist, so that nothing can be noticed
QUIET_SECONDS = 0.2  # without a change, after which the folder is read
MAX_QUIET_WAITS = 25  # a folder that changes all the time is read nevertheless
MAX_LOGGED_PROBLEMS = 10  # of one table
MAX_LOGGED_NAMES = 100


class Reloader:
    """Reader of a folder of tables. `notify` is called after the jobs have changed."""

    def __init__(
        self,
        folder: TableFolder,
        installation: Installation,
        sink: Sink,
        manager: ServiceManager,
        notify: Callable[[], None],
    ) -> None:
        self.folder, self.installation, self.sink = folder, installation, sink
        self.manager, self.notify = manager, notify
        self.read: dict[str, Table] = {}  # tables as they were last read, by path
        self.ignored = frozenset[str]()
        self.changed, self.trouble = asyncio.Event(), ""  # why the folder could not be read the last time
        self.notice = Notice(str(folder.path))

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
            KronError: The folder cannot be used.
        """
        self.notice.watch()
        scan = await asyncio.to_thread(self.folder.scan)
        changed_tables = [table for path, table in scan.tables.items() if self.read.get(path) is not table]
        missing = [path for path in self.installation.identities if path not in scan.tables]
        if changed_tables or missing:
            self.manager.reloading()
        for table in changed_tables:
            await self._install(table)
        for path in missing:
            deleted = await self.installation.remove(path)
            self.sink(Event("table_removed", 0, {"path": path, "deleted": deleted}))
        self.read = {path: self.read[path] for path in scan.tables if path in self.read}
        self._log_ignored(scan)
        if changed_tables or missing:
            self.notify()
            self.manager.ready(self.summary)

    async def follow(self) -> None:
        """Install changes of the tables until canceled: after a notice or a request, and at regular intervals."""
        loop, descriptor = asyncio.get_running_loop(), self.notice.descriptor
        if descriptor is not None:
            loop.add_reader(descriptor, self._on_notice)
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MISSING_SECONDS if self.notice.is_blind else SCAN_SECONDS):
                        await self.changed.wait()
                await self._wait_for_quiet()
                await self._reload()
        finally:
            if descriptor is not None:
                loop.remove_reader(descriptor)
            self.notice.close()

    def request(self) -> None:
        """Read the tables soon."""
        self.changed.set()

    def _on_notice(self) -> None:
        if self.notice.drain():
            self.changed.set()

    async def _wait_for_quiet(self) -> None:
        for _ in range(MAX_QUIET_WAITS):
            if not self.changed.is_set():
                break
            self.changed.clear()
            await asyncio.sleep(QUIET_SECONDS)

    async def _reload(self) -> None:
        trouble, self.trouble = self.trouble, ""
        try:
            await self.load()
        except (KronError, OSError) as error:  # the jobs stay as they are, and the next scan tries again
            self.trouble = getattr(error, "message", str(error))
            if self.trouble != trouble:
                self.sink(Event("tables_unreadable", 0, {"path": str(self.folder.path), "error": self.trouble}))

    async def _install(self, table: Table) -> None:
        if table.problems:
            self._log_problems(table)
        else:
            try:
                deleted = await self.installation.install(table)
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

    def _log_ignored(self, scan: Scan) -> None:
        """Log the files that are not tables, once each."""
        ignored = frozenset(scan.ignored)
        for name in sorted(ignored - self.ignored)[:MAX_LOGGED_NAMES]:
            self.sink(Event("table_ignored", 0, {"path": str(self.folder.path / name)}))
        self.ignored = ignored
