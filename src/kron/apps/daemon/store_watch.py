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

GATHER_SECONDS = 0.1  # between two questions to the store, at least
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
                self.changed.clear()
                before, version = version, await self._version(version)
                if version != before:
                    self.notify()
                await asyncio.sleep(GATHER_SECONDS)
        finally:
            loop.remove_reader(descriptor)
            self.notice.close()

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
