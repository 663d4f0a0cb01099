"""Command journal of a host: every key that was begun here. An entry is on disk before its command starts."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

_CREATE_TABLE = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS begun (
    key TEXT PRIMARY KEY, at INTEGER NOT NULL, boot TEXT, pid INTEGER, ticks INTEGER, status INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS begun_at ON begun (at);
CREATE INDEX IF NOT EXISTS begun_unended ON begun (key) WHERE pid IS NOT NULL AND status IS NULL;
"""
_BEGIN = "INSERT OR IGNORE INTO begun (key, at) VALUES (?, ?)"
_BEGIN_AGAIN = """
UPDATE begun SET at = max(?, at + 1), boot = NULL, pid = NULL, ticks = NULL
WHERE key = ? AND at = ? AND boot IS ? AND pid IS ? AND ticks IS ? AND status IS NULL
"""
_RECORD_PROCESS = "UPDATE begun SET boot = ?, pid = ?, ticks = ? WHERE key = ?"
_RECORD_STATUS = "UPDATE begun SET status = ? WHERE key = ?"
_SELECT_ENTRY = "SELECT at, boot, pid, ticks, status FROM begun WHERE key = ?"
_SELECT_UNENDED = "SELECT key FROM begun WHERE pid IS NOT NULL AND status IS NULL ORDER BY key"
_DELETE_OLD = "DELETE FROM begun WHERE at < ?"
_RETENTION_SECONDS = 400 * 86_400  # seconds: periods older than a year are not launched again


class Entry(NamedTuple):
    """Journal entry of a command: when it was begun, its process if it was started, and its exit status if it ended."""

    at: int = 0  # seconds; greater with each attempt
    boot: str | None = None
    pid: int | None = None
    ticks: int | None = None  # start time of the process, in clock ticks since boot
    status: int | None = None

    @property
    def alive(self) -> bool:
        """Whether the process still runs: the same process, not another one that has its process id now."""
        if self.pid is None or self.ticks is None or self.status is not None:  # no ticks: ended before it was recorded
            return False
        return (self.boot, self.ticks) == (boot(), ticks(self.pid))


class Journal:
    """Folder that the workers of one host share: the journal, and a status file for each running command."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(self._open()) as connection:
            connection.executescript(_CREATE_TABLE)

    def begin(self, key: str, now: int) -> bool:
        """Record that a command is about to start. Returns False if its key was begun before."""
        self._write(_DELETE_OLD, now - _RETENTION_SECONDS)
        return self._write(_BEGIN, key, now)

    def begin_again(self, key: str, now: int, entry: Entry) -> bool:
        """Record another attempt in place of a failed one. Returns False if the entry has changed since `entry`."""
        return self._write(_BEGIN_AGAIN, now, key, *entry[:4])

    def started(self, key: str, pid: int) -> None:
        """Record the process of a command."""
        self._write(_RECORD_PROCESS, boot(), pid, ticks(pid), key)

    def ended(self, key: str, status: int) -> None:
        """Record the exit status of a command and remove its status file."""
        self._write(_RECORD_STATUS, status, key)
        self._status_path(key).unlink(missing_ok=True)

    def look(self, key: str) -> Entry | None:
        """Return the entry of a key; None if it was never begun here."""
        with closing(self._open()) as connection:
            row = connection.execute(_SELECT_ENTRY, (key,)).fetchone()
        return Entry(*row) if row else None

    def unended(self) -> list[str]:
        """Return the keys whose processes were started and whose end is not recorded."""
        with closing(self._open()) as connection:
            return [key for (key,) in connection.execute(_SELECT_UNENDED)]

    def status_file(self, key: str) -> int:
        """Open the file in which a command that outlives its worker leaves its status. The caller closes it."""
        return os.open(self._status_path(key), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)

    def status(self, key: str) -> int | None:
        """Return the exit status of a command: from its status file, else from the journal; None if it is unknown."""
        try:
            text = self._status_path(key).read_text(encoding="ascii")
        except (OSError, ValueError):
            text = ""
        if text.endswith("\n") and text.strip().isdigit():
            return int(text)
        entry = self.look(key)
        return entry.status if entry else None

    def _status_path(self, key: str) -> Path:
        return self.folder / f"{key}.status"

    def _write(self, statement: str, *values: object) -> bool:
        with closing(self._open()) as connection:
            return connection.execute(statement, values).rowcount == 1

    def _open(self) -> sqlite3.Connection:
        """Open the database. Each write is its own transaction and is on disk when it returns."""
        connection = sqlite3.connect(self.folder / "journal.db", timeout=10, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection


def boot() -> str:
    """Return the boot id of this host: it changes with every restart."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def ticks(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot; None if it does not exist or is a zombie."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else int(rest[18])
