"""SQLite store."""

from kron.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
