"""SQLite file with its own thread, which does all the work, so that the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from kron.engine.batch_writer import BatchWriter
from kron.engine.clock import SystemTimer
from kron.errors import StoreUnavailable, WriteRejected
from kron.stores.sqlite.connection import connect, transaction
from kron.stores.sqlite.locking import retry_locked
from kron.stores.sqlite.statements import QUERIES, insertion

MAX_PARAMETERS = 999  # of one statement, in old SQLite versions
T = TypeVar("T")
Work = Callable[[], Any]
Request = tuple[Work, asyncio.Future[Any]]


class File:
    """Reader and writer of a file. Each work is atomic, and its writes are on disk when the call returns."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path, self.patience = path, patience
        with _translate_errors(path):
            self.connection = connect(path, patience)
        self.file_ids = _file_ids(path)
        self.thread = ThreadPoolExecutor(1, "kron-sqlite")
        self.writer: BatchWriter[Request] = BatchWriter(self._write_batch, SystemTimer(), lambda *_: True)

    async def read(self, work: Callable[[], T]) -> T:
        """Return the result of read-only work, which sees one snapshot of the file."""
        with _translate_errors(self.path):
            return await asyncio.get_running_loop().run_in_executor(self.thread, self._read_once, work)

    async def write(self, work: Callable[[], T]) -> T:
        """Return the result of work that holds the write lock."""
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.writer.put((work, result))
        with _translate_errors(self.path):
            return await result

    async def changes_of_others(self) -> int:
        """Return a number that changes when another connection has written to the file."""
        ((number,),) = await self.read(lambda: self.rows("changes_of_others"))
        return int(number)

    async def limit_page_cache(self) -> None:
        """Use little memory for pages of the file, for a process that makes no large writes."""
        await asyncio.get_running_loop().run_in_executor(self.thread, self.rows, "set_small_page_cache")

    async def close(self) -> None:
        """Finish the work that has begun, then close the file."""
        await self.writer.drain()
        await asyncio.get_running_loop().run_in_executor(self.thread, self.connection.close)
        self.thread.shutdown()

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a named statement. Only work may call this, because it must run in the file's thread."""
        return self.connection.execute(QUERIES[query], values).fetchall()

    def count(self, query: str, **values: Any) -> int:
        """Run a named statement and return the number of changed rows. Only work may call this."""
        return self.connection.execute(QUERIES[query], values).rowcount

    def put(self, query: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows by a named statement, in batches, because SQLite keeps undo information for each statement."""
        if not rows:
            return
        rows_per_insert = MAX_PARAMETERS // len(insertion(query, 1)[1])
        full_rows = len(rows) - len(rows) % rows_per_insert
        blocks = [
            *(rows[first : first + rows_per_insert] for first in range(0, full_rows, rows_per_insert)),
            *([row] for row in rows[full_rows:]),
        ]
        for block in blocks:
            statement, names = insertion(query, len(block))
            self.connection.execute(statement, [row[name] for row in block for name in names])

    def _read_once(self, work: Callable[[], T]) -> T:
        def attempt() -> T:
            self._check_file()
            with transaction(self.connection, "begin_reading"):
                return work()

        return retry_locked(attempt, self.patience)

    async def _write_batch(self, requests: list[Request]) -> None:
        """Do all waiting work in one transaction, so that concurrent requests share one write to disk."""
        requests = [(work, future) for work, future in requests if not future.done()]  # the others were canceled
        works = [work for work, _ in requests]
        results: list[tuple[Any, Exception | None]] = []
        try:
            results = await asyncio.get_running_loop().run_in_executor(self.thread, self._do_all, works)
        except Exception as error:
            results = [(None, error) for _ in works]
        for (_, future), (result, failure) in zip(requests, results, strict=True):
            if future.done():
                continue
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)

    def _do_all(self, works: list[Work]) -> list[tuple[Any, Exception | None]]:
        def attempt() -> list[tuple[Any, Exception | None]]:
            self._check_file()
            with transaction(self.connection, "begin"):
                return [self._do_one(work) for work in works]

        return retry_locked(attempt, self.patience) if works else []

    def _check_file(self) -> None:
        """Raise STORE_FAILED if the file was removed or replaced: writes to it would be lost."""
        if _file_ids(self.path) != self.file_ids:
            hint = "stop every process that uses it, restore the file without its -wal and -shm files, and start again"
            raise StoreUnavailable(
                "STORE_FAILED", f"{self.path} was removed or replaced while it was in use", hint=hint
            )

    def _do_one(self, work: Callable[[], T]) -> tuple[T | None, Exception | None]:
        """Return the result of one work of several, or its error. After an error only this work is rolled back."""
        self.rows("savepoint")
        try:
            result = work()
        except Exception as error:
            if not self.connection.in_transaction:  # SQLite rolled back the whole transaction
                raise
            self.rows("rollback_to_savepoint")
            self.rows("release_savepoint")
            return None, error
        self.rows("release_savepoint")
        return result, None


def _file_ids(path: Path) -> list[tuple[int, int] | None]:
    """Return device and inode of the database and its write-ahead log. Both stay while a connection is open."""
    ids = list[tuple[int, int] | None]()
    for file in (path, Path(f"{path}-wal")):
        try:
            status = file.stat()
        except FileNotFoundError:
            ids.append(None)
        else:
            ids.append((status.st_dev, status.st_ino))
    return ids


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Translate SQLite errors to `KronError`."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        hint = "report this bug in Kron; nothing was written"
        raise WriteRejected(
            "STORE_REFUSED", f"{path}: write rejected by a database constraint: {error}", hint=hint
        ) from error
    except sqlite3.Error as error:
        raise StoreUnavailable("STORE_FAILED", f"{path}: {error}", hint=_hint(error)) from error


def _hint(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    hints = {
        "SQLITE_BUSY": "check whether another process hangs: it has held the write lock for too long",
        "SQLITE_FULL": "free disk space; Kron then continues",
        "SQLITE_NOTADB": "use another file: this one is not an SQLite database",
        "SQLITE_CORRUPT": "restore the damaged file from a backup",
        "SQLITE_CANTOPEN": "check that the folder exists and is writable",
        "SQLITE_READONLY": "make the file and its folder writable",
    }
    return next((hint for code, hint in hints.items() if name.startswith(code)), "")
