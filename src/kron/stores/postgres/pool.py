"""Connection pool and transactions with a time limit. A connection that failed is never reused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg

from kron.engine.failpoint import fail_point
from kron.engine.tenant_scope import tenant_scope
from kron.errors import StoreUnavailable
from kron.stores.postgres.connection import (
    Connection,
    address,
    connect,
    schema_of,
    shut_down,
    translate_errors,
    with_literals,
    with_schema,
)
from kron.stores.postgres.statements import QUERIES

T = TypeVar("T")

DEADLINE_SECONDS = 5.0  # seconds for a whole transaction; the server's own limits are shorter


class Session:
    """Statements within one transaction, for one tenant."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self.connection, self.tenant = connection, tenant

    async def execute(self, query: str, **values: Any) -> None:
        """Run a named statement."""
        await self.connection.execute(QUERIES[query], {"tenant": self.tenant, **values}, binary=True)

    async def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run a named statement and return its rows."""
        cursor = await self.connection.execute(QUERIES[query], {"tenant": self.tenant, **values}, binary=True)
        return await cursor.fetchall()


class Pool:
    """Connection pool of one role to one database, for one tenant.

    Args:
        url: URL of the store.
        tenant: Tenant whose rows the transactions see.
        size: Maximum number of connections.
        deadline: Seconds for a whole transaction.
    """

    def __init__(self, url: str, tenant: str, *, size: int = 4, deadline: float = DEADLINE_SECONDS) -> None:
        self.conninfo, self.schema, self.tenant, self.deadline = address(url), schema_of(url), tenant, deadline
        self.idle: list[Connection] = []
        self.is_closed = False
        self.gate = asyncio.Semaphore(size)
        self.begin_statements = {
            name: with_literals(QUERIES[name] + b"\n" + QUERIES["set_limits"], tenant=tenant, schema=self.schema)
            for name in ("begin", "begin_reading")
        }
        self.standalone_queries = {
            name: with_schema(QUERIES[name], self.schema) for name in ("clock", "poll", "notify")
        }
        self.place = "the database"

    async def read(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """Return the result of read-only work in one transaction, which sees one snapshot."""
        return await self._with_connection(lambda connection: self._run_transaction(connection, "begin_reading", work))

    async def query(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of one statement that is independent of the tenant settings and needs no transaction."""

        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            return await (await connection.execute(self.standalone_queries[query], values, binary=True)).fetchall()

        return await self._with_connection(work)

    async def write(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """Return the result of work in one durable transaction. After an error it may or may not be committed."""
        return await self._with_connection(lambda connection: self._run_transaction(connection, "begin", work))

    @property
    def payload(self) -> str:
        """Payload of the notifications: several tenants and several schemas can share a database."""
        return f"{self.schema}/{self.tenant}"

    async def close(self) -> None:
        """Close all connections: those that are idle now, the others as soon as their work is done."""
        self.is_closed = True
        await self.close_idle()

    async def close_idle(self) -> None:
        """Close the idle connections."""
        while self.idle:
            await self.idle.pop().close()

    async def _with_connection(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        with translate_errors(self.place):
            connection = await self._acquire()
            try:
                result = await self._await_work(connection, work(connection))
            except psycopg.OperationalError:
                await self.close_idle()  # the others go to the same server and may be broken, too
                raise
            finally:
                self.gate.release()
            if self.is_closed:
                await connection.close()
            else:
                self.idle.append(connection)
            return result

    async def _acquire(self) -> Connection:
        """Return a connection as soon as one is free."""
        try:
            async with asyncio.timeout(self.deadline):
                await self.gate.acquire()
        except TimeoutError as error:
            raise self._timeout_error("had no free connection") from error
        try:
            while self.idle:
                connection = self.idle.pop()
                if not connection.closed:
                    return connection
            return await connect(self.conninfo)
        except BaseException:
            self.gate.release()
            raise

    async def _await_work(self, connection: Connection, work: Awaitable[T]) -> T:
        """Return the result of `work`. If it is late or canceled, shut down the connection.

        psycopg cancels by asking the server, which blocks on a dead link.
        """
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # or asyncio would log it
        try:
            await asyncio.wait({task}, timeout=self.deadline)
            late = not task.done()
        finally:
            if not task.done():
                shut_down(connection)
                await asyncio.wait({task})
            if task.cancelled() or task.exception() is not None:
                await connection.close()
        if late:
            raise self._timeout_error("did not answer") from task.exception()
        return task.result()

    def _timeout_error(self, what: str) -> StoreUnavailable:
        message = f"{self.place} {what} within {self.deadline:g} s"
        return StoreUnavailable("STORE_TIMEOUT", message, hint="check whether the request was done before you retry it")

    async def _run_transaction(self, connection: Connection, begin: str, work: Callable[[Session], Awaitable[T]]) -> T:
        warnings: list[str] = []

        def collect_warning(notice: psycopg.errors.Diagnostic) -> None:
            if notice.severity_nonlocalized == "WARNING":
                warnings.append(notice.message_primary or "")

        connection.add_notice_handler(collect_warning)
        scope = tenant_scope()
        scope_statement = b"\n" + with_literals(QUERIES["limit_to_scope"], within=scope) if scope else b""
        await connection.execute(self.begin_statements[begin] + scope_statement)
        result = await work(Session(connection, self.tenant))
        fail_point("K2" if begin == "begin" else "")
        commit_result = await connection.execute(QUERIES["commit"])
        fail_point("K3" if begin == "begin" else "")
        connection.remove_notice_handler(collect_warning)
        if warnings or commit_result.statusmessage != "COMMIT":  # such as a commit that no standby confirmed
            raise psycopg.OperationalError(
                f"not safely committed: {', '.join(warnings) or commit_result.statusmessage}"
            )
        return result
