"""Note writer: one thread with one connection writes the notes of all who wait in one transaction."""

from __future__ import annotations

import sqlite3
import weakref
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

MAX_BATCH = 500  # notes of one transaction
BUSY_SECONDS = 10  # seconds to wait for the transaction of another process


class Result(NamedTuple):
    """Result of a statement: its rows, and the number of rows that it changed."""

    rows: list[tuple[Any, ...]]
    changed: int


class Note(NamedTuple):
    """Statement that waits to be executed. A durable note is on disk when its result is known."""

    statement: str
    values: tuple[object, ...]
    durable: bool
    result: Future[Result]

    @property
    def only_reads(self) -> bool:
        """Whether the statement changes nothing."""
        return self.statement.startswith("SELECT")


class NoteWriter:
    """Writer of one SQLite file. It can be used from several threads, and several processes can use one file."""

    def __init__(self, path: Path) -> None:
        self.path, self.notes = path, deque[Note]()
        self.thread = ThreadPoolExecutor(1, "kron-journal")
        self.connection: sqlite3.Connection | None = None
        self.closing: weakref.finalize[[], NoteWriter] | None = None

    def execute(self, statement: str, *values: object, durable: bool = False) -> Result:
        """Execute a statement together with others, and wait for its result.

        Args:
            statement: SQL statement.
            values: Its parameters.
            durable: Whether a power failure must not undo it.

        Raises:
            sqlite3.Error: The transaction failed, and nothing of it was written.
        """
        note = Note(statement, values, durable, Future())
        self.notes.append(note)
        self.thread.submit(self._write_waiting)
        return note.result.result()

    def _write_waiting(self) -> None:
        batch = list[Note]()
        with suppress(IndexError):
            while len(batch) < MAX_BATCH:
                batch.append(self.notes.popleft())
        if not batch:  # an earlier call has written the note
            return
        try:
            results = self._write(batch)
        except Exception as error:
            self._close()
            for note in batch:
                note.result.set_exception(error)
        else:
            for note, result in zip(batch, results, strict=True):
                note.result.set_result(result)

    def _write(self, batch: list[Note]) -> list[Result]:
        """Execute a batch in one transaction. A transaction without durable notes does not wait for the disk."""
        connection = self._connect()
        durable = any(note.durable for note in batch)
        connection.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN" if all(note.only_reads for note in batch) else "BEGIN IMMEDIATE")
        results = [_execute(connection, note) for note in batch]
        connection.execute("COMMIT")
        return results

    def _connect(self) -> sqlite3.Connection:
        if self.connection is None:
            self.connection = open_file(self.path)
            self.closing = weakref.finalize(self, self.connection.close)
        return self.connection

    def _close(self) -> None:
        """Close a connection that failed; the next batch opens another one."""
        self.connection = None
        if self.closing is not None:
            with suppress(sqlite3.Error):
                self.closing()


def open_file(path: Path) -> sqlite3.Connection:
    """Open a file. Each statement is its own transaction, and is on disk when it returns."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _execute(connection: sqlite3.Connection, note: Note) -> Result:
    cursor = connection.execute(note.statement, note.values)
    return Result(cursor.fetchall(), cursor.rowcount)
