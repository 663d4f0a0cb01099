"""Wires parts together by name: a store by its URL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from kron.clock import Clock, SystemClock
from kron.errors import KronError
from kron.store import Store

POSTGRES = ("postgresql", "postgres")


@asynccontextmanager
async def open_store(url: str, clock: Clock | None = None) -> AsyncIterator[Store]:
    """The store of a URL: `memory:`, `sqlite:` and the path of a file, or `postgresql://` and where it is."""
    scheme, _, path = url.partition(":")
    if scheme == "memory":
        from kron.stores.memory import MemoryStore

        yield MemoryStore(clock or SystemClock())
    elif scheme == "sqlite" and path:
        from kron.stores.sqlite import SqliteStore

        store = SqliteStore(path, clock or SystemClock())
        try:
            yield store
        finally:
            await store.close()
    elif scheme in POSTGRES:
        durable = postgres().PostgresStore(url, clock)
        try:
            yield durable
        finally:
            await durable.close()
    else:
        hint = "write postgresql://host/database, sqlite:/path/of/the/file, or memory: for one that forgets"
        raise KronError("UNKNOWN_STORE", f"there is no store {url!r}", hint=hint)


def postgres() -> Any:
    """The package of the store in PostgreSQL, which needs psycopg."""
    try:
        return import_module("kron.stores.postgres")
    except ImportError as error:
        message = f"PostgreSQL needs psycopg: {error}"
        raise KronError("MISSING_PACKAGE", message, hint="pip install 'kron-py[postgres]'") from error
