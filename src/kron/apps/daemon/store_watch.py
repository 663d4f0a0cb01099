"""Store watch: notices what other processes write to the store of the daemon, such as `krontab run` and `kron pause`.

Each commit changes the write-ahead log of the SQLite file, which inotify tells. SQLite tells whether another connection
made the commit. So an idle daemon need not ask the store every second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kron.apps.daemon.notice import MODIFIED, Notice
from kron.errors import KronError
from kron.stores.sqlite import SqliteStore

# A writer changes the log first, waits for the disk, and only then is its commit visible. So the store is asked again.
QUESTION_DELAYS = (0.05, 0.1, 0.3, 1.0, 4.0)  # seconds before each question after a change of the log
log = logging.getLogger("kron.store_watch")


class StoreWatch:
    """Watch of a SQLite store. After another process has written to it, `notify` is called."""

    def __init__(self, store: SqliteStore, notify: Callable[[], None]) -> None:
        self.store, self.notify, self.changed = store, notify, asyncio.Event()
        self.notice = Notice(f"{store.file.path}-wal", MODIFIED)

    @property
    def is_watching(self) -> bool:
        """Whether writes of other processes are noticed."""
        return self.notice.descriptor is not None and not self.notice.is_blind

    async def follow(self) -> None:
        """Call `notify` after each write of another process, until canceled."""
        loop, descriptor = asyncio.get_running_loop(), self.notice.descriptor
        if descriptor is None:
            return
        loop.add_reader(descriptor, self._on_notice)
        try:
            version = await self._version(-1)
            while True:
                await self.changed.wait()
                version = await self._ask(version)
        finally:
            loop.remove_reader(descriptor)
            self.notice.close()

    async def _ask(self, known: int) -> int:
        """Ask the store until another process has written, or a last time. A change meanwhile starts this again."""
        self.changed.clear()
        for delay in QUESTION_DELAYS:
            await asyncio.sleep(delay)
            version = await self._version(known)
            if version != known:
                self.notify()
                return version
            if self.changed.is_set():
                break
        return known

    def _on_notice(self) -> None:
        if self.notice.drain():
            self.changed.set()

    async def _version(self, known: int) -> int:
        """Return the number of the last write of another process; `known` if the store cannot be read now."""
        try:
            return await self.store.file.changes_of_others()
        except KronError as error:
            log.warning("the store cannot be asked for changes: %s", error.message)
            return known
