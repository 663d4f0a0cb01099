"""SQLite connection: durable at every commit, shared with other processes, with a known schema version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kron.errors import StoreUnsuitable
from kron.stores.sqlite.locking import retry_locked
from kron.stores.sqlite.statements import QUERIES, SCHEMA

SCHEMA_VERSION = 1
APPLICATION_ID = int.from_bytes(b"Kron", "big")


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Open a file, or create it. Waits up to `patience` seconds for the locks of other processes."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        retry_locked(lambda: _prepare(connection, path), patience)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the file belongs to Kron, and create its tables. Several processes can do this at the same time."""
    with transaction(connection, "begin_reading"):
        _schema_version(connection, path)  # before anything in the file is changed
    if _single_value(connection, "use_write_ahead_log") != "wal":
        hint = "move the file to a local disk; network file systems are not supported"
        raise StoreUnsuitable("STORE_UNSUITABLE", f"{path} cannot have a write-ahead log", hint=hint)
    connection.execute(QUERIES["sync_commits"])
    connection.execute(QUERIES["enforce_references"])
    connection.execute(QUERIES["set_page_cache"])
    with transaction(connection, "begin"):
        if _schema_version(connection, path) == 0:  # and, in this transaction, no other process creates them
            for statement in SCHEMA:
                connection.execute(statement)


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Run the body in a transaction: commit at its end, roll back on an error."""
    connection.execute(QUERIES[begin])
    try:
        yield
        connection.execute(QUERIES["commit"])
    except BaseException:
        if connection.in_transaction:
            connection.execute(QUERIES["rollback"])
        raise


def _schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version; 0 without tables. A file of another program or a newer Kron is left unchanged."""
    if _single_value(connection, "tables") == 0:
        return 0
    version = _single_value(connection, "version")
    if _single_value(connection, "application") != APPLICATION_ID:
        raise StoreUnsuitable(
            "NOT_A_STORE", f"{path} is a database of another program", hint="use a separate file for Kron"
        )
    if version > SCHEMA_VERSION:
        message = f"{path} has schema version {version}, this Kron supports up to {SCHEMA_VERSION}"
        raise StoreUnsuitable("STORE_TOO_NEW", message, hint="upgrade Kron on this host; the file is unchanged")
    return int(version)


def _single_value(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(QUERIES[query]).fetchone()[0]
