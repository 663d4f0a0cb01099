"""A few connections, and transactions on them that end in time. One that failed is never used again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg

from kron.errors import KronError
from kron.failpoint import fail_point
from kron.stores.postgres.connection import Connection, address, begun, connect, cut, qualified, schema_of, translated
from kron.stores.postgres.statements import QUERIES
from kron.within import within

T = TypeVar("T")

DEADLINE = 5.0  # seconds, for all of a transaction; the server's own limits are shorter


class Talk:
    """What is said within one transaction."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self.connection, self.tenant = connection, tenant

    async def tell(self, query: str, **values: Any) -> None:
        """Run a named statement."""
        await self.connection.execute(QUERIES[query], {"tenant": self.tenant, **values}, binary=True)

    async def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """What a named statement finds."""
        found = await self.connection.execute(QUERIES[query], {"tenant": self.tenant, **values}, binary=True)
        return await found.fetchall()


class Pool:
    """The connections of one role to one database, for one tenant."""

    def __init__(self, url: str, tenant: str, *, size: int = 4, deadline: float = DEADLINE) -> None:
        self.conninfo, self.schema, self.tenant, self.deadline = address(url), schema_of(url), tenant, deadline
        self.idle: list[Connection] = []
        self.gate = asyncio.Semaphore(size)
        self.beginnings = {
            name: begun(QUERIES[name] + b"\n" + QUERIES["bounds"], tenant=tenant, schema=self.schema)
            for name in ("begin", "begin_reading")
        }
        self.questions = {name: qualified(QUERIES[name], self.schema) for name in ("clock", "poll", "ring")}
        self.place = "the database"

    async def read(self, work: Callable[[Talk], Awaitable[T]]) -> T:
        """The result of work that changes nothing."""
        return await self._do(lambda connection: self._transaction(connection, "begin_reading", work))

    async def ask(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """What one statement finds that is nobody's, and so needs no transaction around it."""

        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            return await (await connection.execute(self.questions[query], values, binary=True)).fetchall()

        return await self._do(work)

    async def write(self, work: Callable[[Talk], Awaitable[T]]) -> T:
        """The result of work that is done as a whole, and durable, or not at all; after an error nobody knows which."""
        return await self._do(lambda connection: self._transaction(connection, "begin", work))

    @property
    def whose(self) -> str:
        """Whose bell it is: several tenants, and several schemas, may share a database."""
        return f"{self.schema}/{self.tenant}"

    async def close(self) -> None:
        """Let go of all connections."""
        while self.idle:
            await self.idle.pop().close()

    async def _do(self, deed: Callable[[Connection], Awaitable[T]]) -> T:
        with translated(self.place):
            connection = await self._one()
            try:
                result = await self._in_time(connection, deed(connection))
            except psycopg.OperationalError:
                await self.close()  # the others lead to the same server, and may be as dead
                raise
            finally:
                self.gate.release()
            self.idle.append(connection)
            return result

    async def _one(self) -> Connection:
        """A connection, as soon as one may be used."""
        try:
            async with asyncio.timeout(self.deadline):
                await self.gate.acquire()
        except TimeoutError as error:
            raise self._late("had no connection to spare") from error
        try:
            while self.idle:
                connection = self.idle.pop()
                if not connection.closed:
                    return connection
            return await connect(self.conninfo)
        except BaseException:
            self.gate.release()
            raise

    async def _in_time(self, connection: Connection, deed: Awaitable[T]) -> T:
        """The result of a deed. If it is late or not wanted any more, the line is cut: to cancel would be to wait."""
        task = asyncio.ensure_future(deed)
        try:
            await asyncio.wait({task}, timeout=self.deadline)
            late = not task.done()
        finally:
            if not task.done():
                cut(connection)
                await asyncio.wait({task})
            if task.cancelled() or task.exception() is not None:
                await connection.close()
        if late:
            raise self._late("did not answer") from task.exception()
        return task.result()

    def _late(self, what: str) -> KronError:
        message = f"{self.place} {what} within {self.deadline:g} s"
        return KronError("STORE_TIMEOUT", message, hint="what was asked may or may not be done: look again")

    async def _transaction(self, connection: Connection, begin: str, work: Callable[[Talk], Awaitable[T]]) -> T:
        warnings: list[str] = []

        def hear(said: psycopg.errors.Diagnostic) -> None:
            if said.severity_nonlocalized == "WARNING":
                warnings.append(said.message_primary or "")

        connection.add_notice_handler(hear)
        whose = within()
        narrow = b"\n" + begun(QUERIES["narrow"], within=whose) if whose else b""
        await connection.execute(self.beginnings[begin] + narrow)
        result = await work(Talk(connection, self.tenant))
        fail_point("K2" if begin == "begin" else "")
        end = await connection.execute(QUERIES["commit"])
        fail_point("K3" if begin == "begin" else "")
        connection.remove_notice_handler(hear)
        if warnings or end.statusmessage != "COMMIT":  # such as a commit that no standby has confirmed
            raise psycopg.OperationalError(f"not safely committed: {', '.join(warnings) or end.statusmessage}")
        return result
