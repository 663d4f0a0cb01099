"""Wires parts together by name: a store by its URL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kron.clock import Clock, SystemClock
from kron.errors import KronError
from kron.store import Store


@asynccontextmanager
async def open_store(url: str, clock: Clock | None = None) -> AsyncIterator[Store]:
    """The store of a URL: `memory:`, or `sqlite:` and the path of a file."""
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
    else:
        hint = "write sqlite:/path/of/the/file, or memory: for one that forgets"
        raise KronError("UNKNOWN_STORE", f"there is no store {url!r}", hint=hint)
