"""Wake-up notifications (LISTEN/NOTIFY): a write that is due now wakes idle workers. Correctness does not need them.

If a notification is lost, a worker only handles the schedule later, at the end of its tick (`TICK_MS`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import psycopg

from kron.engine.batch_writer import BatchWriter
from kron.engine.clock import SystemTimer
from kron.rules.update import ScheduleUpdate
from kron.stores.postgres.connection import connect
from kron.stores.postgres.pool import Pool
from kron.stores.postgres.statements import QUERIES

MIN_RECONNECT_SECONDS, MAX_RECONNECT_SECONDS = 1.0, 30.0  # minimum and maximum seconds before a listener reconnects


def urgent(update: ScheduleUpdate, now: int) -> bool:
    """Return whether a user requested the update and it is due now. Workers' own plans send no notification."""
    wake, edit = update.after.next_check_at, update.revision or update.action
    return bool(edit or (update.new and update.new[0].trigger)) and wake is not None and wake <= now


class Notifier:
    """Sender of notifications, outside of the transaction that caused them: a NOTIFY's lock would serialize commits.

    It sends one notification at a time. Requests that arrive meanwhile share the next one.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.writer: BatchWriter[None] = BatchWriter(self._send, SystemTimer(), lambda *_: True)

    def notify(self) -> None:
        """Send a notification in the background."""
        self.writer.put(None)

    async def rest(self) -> None:
        """Wait until the current notification is sent."""
        await self.writer.drain()

    async def _send(self, requests: list[None]) -> None:
        await self.pool.query("notify", whose=self.pool.payload)


class Listener:
    """Listener for the notifications of a tenant, on its own connection. It calls `on_notification` for each."""

    def __init__(self, conninfo: str, payload: str, on_notification: Callable[[], None]) -> None:
        self.conninfo, self.payload, self.on_notification = conninfo, payload, on_notification
        self.wait = MIN_RECONNECT_SECONDS

    async def run(self) -> None:
        """Listen until canceled. Returns at once behind a pooler that shares connections, where LISTEN cannot work."""
        while True:
            with suppress(psycopg.Error, OSError):
                if not await self._listen():
                    return
            await asyncio.sleep(self.wait)
            self.wait = min(MAX_RECONNECT_SECONDS, self.wait * 2)

    async def _listen(self) -> bool:
        async with await connect(self.conninfo) as connection:
            row = await (await connection.execute(QUERIES["backend_pid"])).fetchone()
            if row is None or row[0] != connection.info.backend_pid:
                return False  # behind a pooler: LISTEN would stay in a session that others use
            await connection.execute(QUERIES["listen"])
            self.wait = MIN_RECONNECT_SECONDS
            self.on_notification()  # for notifications that were sent before
            async for notification in connection.notifies():
                if notification.payload == self.payload:
                    self.on_notification()
        return True


@asynccontextmanager
async def listening(listener: Listener) -> AsyncIterator[None]:
    """Listen in a background task while the context is active."""
    task = asyncio.ensure_future(listener.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
