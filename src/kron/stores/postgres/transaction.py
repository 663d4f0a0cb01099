"""Transactions of runs: what a function writes and the success of its attempt are committed together, or not at all.

The function has a connection of its own. When it has come to its end, the run is locked, and found to be the same
attempt of the same worker, or all that was written is taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from kron.core.answer import Report, look_after, reported
from kron.core.policy import Policy
from kron.core.run import Run
from kron.errors import KronError
from kron.failpoint import fail_point
from kron.store import Change
from kron.stores.codec import read_run
from kron.stores.postgres.arrays import octets, texts
from kron.stores.postgres.change import change
from kron.stores.postgres.connection import Connection, begun, connect, translated
from kron.stores.postgres.pool import Pool, Talk
from kron.stores.postgres.rows import key_bytes
from kron.stores.postgres.statements import QUERIES
from kron.stores.statements import named

AT_ONCE = 8  # in one process; each has a connection

_SQL = {
    name: sql.encode() for name, sql in named(Path(__file__).with_name("transaction.sql").read_text("utf-8")).items()
}


class Transactions:
    """Opens a transaction for each run that asks for one; a bounded number at once, and the others wait."""

    def __init__(self, pool: Pool, now: Callable[[], Awaitable[int]]) -> None:
        self.conninfo, self.tenant, self.schema, self.now = pool.conninfo, pool.tenant, pool.schema, now
        self.gate = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def of(self, run: Run, policy: Policy) -> AsyncIterator[Connection]:
        """A connection in a transaction, which is committed at the end, with the success of the run.

        If it fails, or another attempt has been made meanwhile, nothing of it stays. A commit of which no answer came
        may have happened: the run shows it, and who asks for the run waits until it is decided.
        """
        async with self.gate:
            with translated("the database"):
                connection = await connect(self.conninfo)
            async with connection:  # which is closed at the end, so that nothing of a session is left to another run
                async with connection.transaction():
                    await connection.execute(begun(_SQL["enter"], tenant=self.tenant))
                    yield connection
                    await self._succeed(connection, run, policy)
                    fail_point("K2")
                fail_point("K3")

    async def _succeed(self, connection: Connection, run: Run, policy: Policy) -> None:
        """Record the success of this very attempt, in the transaction that is open."""
        ((inside, path),) = await (await connection.execute(_SQL["still_inside"])).fetchall()
        if not inside:
            hint = "leave that to Kron; for a part that may fail alone, use `async with connection.transaction()`"
            raise KronError("TRANSACTION_ENDED", "the function has ended its transaction itself", hint=hint)
        await connection.execute(QUERIES["bounds"])  # it is about to hold a row that others wait for
        await connection.execute(begun(_SQL["ours"], schema=self.schema))
        now, talk = await self.now(), Talk(connection, self.tenant)
        await talk.tell("lock", schedules=texts([run.identity]))  # from here on, nobody else speaks of it
        (stored,) = map(read_run, await talk.rows("of_keys", keys=octets([key_bytes(run.key)])))
        after = reported(stored, Report.SUCCESS, policy, now, run.attempt)
        same = (stored.attempt, stored.owner) == (run.attempt, run.owner)
        if not same or after is None:
            message = f"attempt {run.attempt} at {run.identity!r} has lost its run to another, or to its end"
            raise KronError("FENCED", message, hint="nothing of this attempt stays; look at what became of the run")
        await change(talk, [Change(stored, after, look_after(after, policy, now))])
        await connection.execute(_SQL["theirs"], {"path": path})
