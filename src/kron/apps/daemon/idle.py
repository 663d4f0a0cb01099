"""Idle daemon: it sleeps until the next period, because the kernel tells it of everything that can come earlier.

That is a jump of the clock, and a write of another process to the store. Where the kernel cannot tell of them, the
daemon looks every second, as every worker does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kron.apps.daemon.clock_watch import ClockWatch
from kron.apps.daemon.store_watch import StoreWatch
from kron.engine.background import in_background
from kron.engine.events import Sink
from kron.engine.settings import Settings
from kron.stores.sqlite import SqliteStore

IDLE_SECONDS = 20.0  # between two passes: a third of the time that the service manager waits for a sign of life
# A third of the lease is the time between two renewals, which are the signs of life.
IDLE_SETTINGS = Settings(tick=int(IDLE_SECONDS * 1000), shard_lease=int(IDLE_SECONDS * 3000))


class IdleWatch:
    """Watch of the clock and of the store for a daemon. `notify` wakes the daemon."""

    def __init__(self, store: SqliteStore, sink: Sink, notify: Callable[[], None]) -> None:
        self.clock, self.store = ClockWatch(sink, notify), StoreWatch(store, notify)

    @property
    def settings(self) -> Settings:
        """Settings of the daemon's worker."""
        is_told = self.clock.descriptor is not None and self.store.is_watching
        return IDLE_SETTINGS if is_told else Settings()

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Watch while the context is active."""
        loop, descriptor = asyncio.get_running_loop(), self.clock.descriptor
        if descriptor is not None:
            loop.add_reader(descriptor, self.clock.look)
        try:
            async with in_background(self.store.follow()):
                yield
        finally:
            if descriptor is not None:
                loop.remove_reader(descriptor)
            self.clock.close()
