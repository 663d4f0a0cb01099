"""A SQLite file with a thread of its own, which does all the work, so that the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from kron.errors import KronError
from kron.stores.sqlite.connection import connect, transaction
from kron.stores.sqlite.patience import patiently
from kron.stores.sqlite.statements import QUERIES, insertion

BLOCK = 50  # rows of one insertion; the values of all of them may be 999 in an old SQLite
T = TypeVar("T")
Work = Callable[[], Any]


class File:
    """Reads and writes a file. Work is done as a whole or not at all, and once written it is on the disk."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path, self.patience = path, patience
        with _translated(path):
            self.connection = connect(path, patience)
        self.files = _files(path)
        self.thread = ThreadPoolExecutor(1, "kron-sqlite")
        self.waiting: deque[tuple[Work, Future[Any]]] = deque()

    async def read(self, work: Callable[[], T]) -> T:
        """The result of work that sees one state of the file and changes nothing."""
        with _translated(self.path):
            return await asyncio.get_running_loop().run_in_executor(self.thread, self._read, work)

    async def write(self, work: Callable[[], T]) -> T:
        """The result of work that is alone in writing."""
        done: Future[T] = Future()
        self.waiting.append((work, done))
        self.thread.submit(self._write)
        with _translated(self.path):
            return await asyncio.wrap_future(done)

    async def close(self) -> None:
        """Finish what has begun, and let go of the file."""
        await asyncio.get_running_loop().run_in_executor(self.thread, self.connection.close)
        self.thread.shutdown()

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """What a named statement finds. Only work may call this: it runs in the thread."""
        return self.connection.execute(QUERIES[query], values).fetchall()

    def count(self, query: str, **values: Any) -> int:
        """How many rows a named statement has changed. Only work may call this."""
        return self.connection.execute(QUERIES[query], values).rowcount

    def put(self, query: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows by a named statement, many at once: SQLite notes for each statement how it would be undone."""
        whole = len(rows) - len(rows) % BLOCK
        blocks = [*(rows[first : first + BLOCK] for first in range(0, whole, BLOCK)), *([row] for row in rows[whole:])]
        for block in blocks:
            statement, names = insertion(query, len(block))
            self.connection.execute(statement, [row[name] for row in block for name in names])

    def _read(self, work: Callable[[], T]) -> T:
        def once() -> T:
            self._see_that_it_is_there()
            with transaction(self.connection, "begin_reading"):
                return work()

        return patiently(once, self.patience)

    def _write(self) -> None:
        """Do all that waits in one transaction: what is asked for together is one write to the disk."""
        asked = [self.waiting.popleft() for _ in range(len(self.waiting))]
        asked = [(work, done) for work, done in asked if done.set_running_or_notify_cancel()]
        if not asked:
            return
        try:
            results = patiently(lambda: self._attempts([work for work, _ in asked]), self.patience)
        except BaseException as error:
            results = [(None, error) for _ in asked]
        for (_, done), (result, failure) in zip(asked, results, strict=True):
            if failure is None:
                done.set_result(result)
            else:
                done.set_exception(failure)

    def _attempts(self, works: list[Work]) -> list[tuple[Any, BaseException | None]]:
        self._see_that_it_is_there()
        with transaction(self.connection, "begin"):
            return [self._attempt(work) for work in works]

    def _see_that_it_is_there(self) -> None:
        """Refuse to go on with a file that was removed or replaced: what is written to it would be lost."""
        if _files(self.path) != self.files:
            hint = "stop every process that uses it, put the file there without its -wal and -shm, and start again"
            raise KronError("STORE_FAILED", f"{self.path} was removed or replaced while it was in use", hint=hint)

    def _attempt(self, work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
        """The result of one work among several, or why it failed; then it alone is undone."""
        self.rows("attempt")
        try:
            result = work()
        except Exception as error:
            if not self.connection.in_transaction:  # SQLite gave up on all of it
                raise
            self.rows("undo_attempt")
            self.rows("end_attempt")
            return None, error
        self.rows("end_attempt")
        return result, None


def _files(path: Path) -> list[tuple[int, int] | None]:
    """Which files these are: the database and its write-ahead log. Both stay as long as a connection is open."""
    found = list[tuple[int, int] | None]()
    for each in (path, Path(f"{path}-wal")):
        try:
            status = each.stat()
        except FileNotFoundError:
            found.append(None)
        else:
            found.append((status.st_dev, status.st_ino))
    return found


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """What SQLite says, in Kron's words."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        hint = "this is a mistake in Kron: please report it; nothing was written"
        raise KronError("STORE_REFUSED", f"{path} refuses what may not be: {error}", hint=hint) from error
    except sqlite3.Error as error:
        raise KronError("STORE_FAILED", f"{path}: {error}", hint=_hint(error)) from error


def _hint(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    hints = {
        "SQLITE_BUSY": "another process has been writing for too long; look for one that hangs",
        "SQLITE_FULL": "the disk is full: make room, and it goes on",
        "SQLITE_NOTADB": "this is not a database: give another file",
        "SQLITE_CORRUPT": "the file is damaged: restore it from a backup",
        "SQLITE_CANTOPEN": "see that the folder exists and may be written to",
        "SQLITE_READONLY": "see that the file and its folder may be written to",
    }
    return next((hint for code, hint in hints.items() if name.startswith(code)), "")
