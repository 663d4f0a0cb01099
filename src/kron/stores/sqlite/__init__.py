"""A store in one SQLite file."""

from kron.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
