"""Hints: who writes what is to be looked at now rings a bell; who rests hears it, and looks. Nothing rests on it.

A hint that is lost, or that nobody hears, only makes a worker come later, when its tick is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import psycopg

from kron.errors import KronError
from kron.store import Settlement
from kron.stores.postgres.connection import connect
from kron.stores.postgres.pool import Pool
from kron.stores.postgres.statements import QUERIES

SOON, LATE = 1.0, 30.0  # seconds until a listener that has lost its line tries again


def urgent(settlement: Settlement, now: int) -> bool:
    """Whether somebody asked for it, and it is to be looked at now. What workers plan among themselves is not rung."""
    wake, asked = settlement.after.wake, settlement.revision or settlement.act
    return bool(asked or (settlement.new and settlement.new[0].trigger)) and wake is not None and wake <= now


class Bell:
    """Rings outside of the transaction that it tells of: the lock of a NOTIFY would make commits wait in line.

    It rings once at a time; what is to be told meanwhile is told by the next.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool, self.again = pool, False
        self.ringing: asyncio.Task[None] | None = None

    def ring(self) -> None:
        """Ring, without waiting for it."""
        self.again = True
        if self.ringing is None or self.ringing.done():
            self.ringing = asyncio.ensure_future(self._ring())

    async def rest(self) -> None:
        """Wait until it has rung."""
        if self.ringing is not None and not self.ringing.done():
            await asyncio.wait({self.ringing})

    async def _ring(self) -> None:
        while self.again:
            self.again = False
            with suppress(KronError):
                await self.pool.ask("ring", whose=self.pool.whose)


class Listener:
    """Hears the bell of a tenant, on a connection of its own."""

    def __init__(self, conninfo: str, whose: str, heard: Callable[[], None]) -> None:
        self.conninfo, self.whose, self.heard = conninfo, whose, heard
        self.wait = SOON

    async def run(self) -> None:
        """Listen until cancelled. Behind a pooler that shares connections there is nothing to hear: then it ends."""
        while True:
            with suppress(psycopg.Error, OSError):
                if not await self._listen():
                    return
            await asyncio.sleep(self.wait)
            self.wait = min(LATE, self.wait * 2)

    async def _listen(self) -> bool:
        async with await connect(self.conninfo) as connection:
            found = await (await connection.execute(QUERIES["process"])).fetchone()
            if found is None or found[0] != connection.info.backend_pid:
                return False  # somebody stands between: LISTEN would stay behind in a session that others use
            await connection.execute(QUERIES["listen"])
            self.wait = SOON
            self.heard()  # whatever was rung before
            async for told in connection.notifies():
                if told.payload == self.whose:
                    self.heard()
        return True


@asynccontextmanager
async def listening(listener: Listener) -> AsyncIterator[None]:
    """Listen beside what is done meanwhile."""
    task = asyncio.ensure_future(listener.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
