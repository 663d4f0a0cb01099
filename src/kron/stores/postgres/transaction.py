"""Run transactions: a function's writes and the success of its attempt are committed together, or not at all.

The function has its own connection. When the function ends, the run is locked. If the run is no longer the same attempt
of the same worker, everything is rolled back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from kron.engine.failpoint import fail_point
from kron.errors import Fenced, UsageError
from kron.rules.attempt import reported_attempt
from kron.rules.counters import failed_end
from kron.rules.launch_result import Report, next_check_after, reported
from kron.rules.run import Run
from kron.rules.update import RunUpdate
from kron.stores.codec import read_run
from kron.stores.postgres.arrays import octets, texts
from kron.stores.postgres.connection import Connection, connect, translate_errors, with_literals
from kron.stores.postgres.pool import Pool, Session
from kron.stores.postgres.rows import key_bytes
from kron.stores.postgres.run_updates import write_run_updates
from kron.stores.postgres.statements import QUERIES
from kron.stores.statements import named
from kron.timing.schedule.policy import Policy

MAX_TRANSACTIONS = 8  # concurrent transactions per process; each has a connection

_SQL = {
    name: sql.encode() for name, sql in named(Path(__file__).with_name("transaction.sql").read_text("utf-8")).items()
}


class Transactions:
    """Opener of run transactions: a bounded number at once; other runs wait."""

    def __init__(self, pool: Pool, now: Callable[[], Awaitable[int]]) -> None:
        self.conninfo, self.tenant, self.schema, self.now = pool.conninfo, pool.tenant, pool.schema, now
        self.gate = asyncio.Semaphore(MAX_TRANSACTIONS)

    @asynccontextmanager
    async def of(self, run: Run, policy: Policy) -> AsyncIterator[Connection]:
        """Yield a connection in a transaction, which is committed at the end together with the success of the run.

        If the body fails, or another attempt was made meanwhile, everything is rolled back. A commit without an answer
        may have happened: the run shows whether it did, and a reader of the run waits until that is decided.

        Raises:
            Fenced: The run belongs to another attempt or has ended.
            UsageError: The body ended the transaction itself.
        """
        async with self.gate:
            with translate_errors("the database"):
                connection = await connect(self.conninfo)
            async with connection:  # closed at the end, so that no session state reaches another run
                async with connection.transaction():
                    await connection.execute(with_literals(_SQL["enter"], tenant=self.tenant))
                    yield connection
                    await self._record_success(connection, run, policy)
                    fail_point("K2")
                fail_point("K3")

    async def _record_success(self, connection: Connection, run: Run, policy: Policy) -> None:
        """Record the success of this attempt in the open transaction."""
        ((inside, path),) = await (await connection.execute(_SQL["still_inside"])).fetchall()
        if not inside:
            hint = "do not commit or roll back; for a part that can fail, use `async with connection.transaction()`"
            raise UsageError("TRANSACTION_ENDED", "the function ended the transaction that Kron commits", hint=hint)
        await connection.execute(QUERIES["set_limits"])  # others wait for the row that is locked next
        await connection.execute(with_literals(_SQL["use_kron_path"], schema=self.schema))
        now, session = await self.now(), Session(connection, self.tenant)
        await session.execute("lock", schedules=texts([run.identity]))  # from here on no other writer changes the run
        (stored,) = map(read_run, await session.rows("runs_by_key", keys=octets([key_bytes(run.key)])))
        after = reported(stored, Report.SUCCESS, policy, now, run.attempt)
        is_current = (stored.attempt, stored.owner) == (run.attempt, run.owner)
        if not is_current or after is None:
            message = f"attempt {run.attempt} of {run.identity!r} has lost its run: it has ended or has another attempt"
            raise Fenced("FENCED", message, hint="check the run's outcome; this attempt was rolled back")
        attempt = reported_attempt(stored, Report.SUCCESS, now, run.attempt)
        update = RunUpdate(stored, after, next_check_after(after, policy, now), "", attempt, failed_end(after, policy))
        await write_run_updates(session, [update])
        await connection.execute(_SQL["restore_path"], {"path": path})
