"""The connection to a file: durable at every commit, shared with other processes, and of a known version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kron.errors import KronError
from kron.stores.sqlite.patience import patiently
from kron.stores.sqlite.statements import QUERIES, SCHEMA

VERSION = 1
KRON = int.from_bytes(b"Kron", "big")


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Open a file, or make it. `patience`: how many seconds to wait for others who have it."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        patiently(lambda: _prepare(connection, path), patience)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """See that the file is ours, and has its tables. Several may do this to a new file at the same time."""
    with transaction(connection, "begin_reading"):
        _version(connection, path)  # before anything of it is changed
    if _value(connection, "write_ahead") != "wal":
        hint = "put it on a local disk: a network file system will not do"
        raise KronError("STORE_UNSUITABLE", f"{path} cannot have a write-ahead log", hint=hint)
    connection.execute(QUERIES["be_durable"])
    connection.execute(QUERIES["keep_references"])
    connection.execute(QUERIES["have_room"])
    with transaction(connection, "begin"):
        if _version(connection, path) == 0:  # and nobody else is making them
            for statement in SCHEMA:
                connection.execute(statement)


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """All that is done within, or nothing."""
    connection.execute(QUERIES[begin])
    try:
        yield
        connection.execute(QUERIES["commit"])
    except BaseException:
        if connection.in_transaction:
            connection.execute(QUERIES["rollback"])
        raise


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the tables; 0 if there are none yet. What is not ours, or newer than this code, is left alone."""
    if _value(connection, "tables") == 0:
        return 0
    version = _value(connection, "version")
    if _value(connection, "application") != KRON:
        raise KronError("NOT_A_STORE", f"{path} is a database of something else", hint="give Kron a file of its own")
    if version > VERSION:
        message = f"{path} has version {version} of the tables, and this Kron knows up to {VERSION}"
        raise KronError("STORE_TOO_NEW", message, hint="upgrade Kron on this host; the file is left as it is")
    return int(version)


def _value(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(QUERIES[query]).fetchone()[0]
