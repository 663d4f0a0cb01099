"""Command journal of a host: every key that was begun here. An entry is on disk before its command starts."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from kron.launchers.command.note_writer import NoteWriter, open_file
from kron.launchers.command.process import boot, ticks

_STATUS, _MAX_STATUS, _MAX_STATUS_BYTES = re.compile(rb"[0-9]{1,3}\n"), 255, 4

_CREATE_TABLE = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS begun (
    key TEXT PRIMARY KEY, at INTEGER NOT NULL, boot TEXT, pid INTEGER, ticks INTEGER, status INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS begun_at ON begun (at);
CREATE INDEX IF NOT EXISTS begun_unended ON begun (key) WHERE pid IS NOT NULL AND status IS NULL;
"""
# Columns that journals of earlier releases do not have.
_ADD_COLUMNS = {
    "kill_at": "ALTER TABLE begun ADD COLUMN kill_at INTEGER",
    "grace": "ALTER TABLE begun ADD COLUMN grace INTEGER",
    "asked_at": "ALTER TABLE begun ADD COLUMN asked_at INTEGER",
    "output": "ALTER TABLE begun ADD COLUMN output TEXT",
}
_SELECT_COLUMNS = "SELECT name FROM pragma_table_info('begun')"
_BEGIN = "INSERT OR IGNORE INTO begun (key, at) VALUES (?, ?)"
_BEGIN_AGAIN = """
UPDATE begun SET at = max(?, at + 1), boot = NULL, pid = NULL, ticks = NULL, kill_at = NULL, grace = NULL,
    asked_at = NULL, output = NULL
WHERE key = ? AND at = ? AND boot IS ? AND pid IS ? AND ticks IS ? AND status IS NULL
"""
_RECORD_PROCESS = "UPDATE begun SET boot = ?, pid = ?, ticks = ?, kill_at = ?, grace = ?, output = ? WHERE key = ?"
_RECORD_REQUEST = "UPDATE begun SET asked_at = ? WHERE key = ? AND asked_at IS NULL AND status IS NULL"
_RECORD_STATUS = "UPDATE begun SET status = ? WHERE key = ?"
_SELECT_ENTRY = "SELECT at, boot, pid, ticks, status, kill_at, grace, asked_at, output FROM begun WHERE key = ?"
_SELECT_UNENDED = "SELECT key FROM begun WHERE pid IS NOT NULL AND status IS NULL ORDER BY key"
_DELETE_OLD = "DELETE FROM begun WHERE at < ?"
_RETENTION_SECONDS = 400 * 86_400  # seconds: periods older than a year are not launched again
_CLEANUP_SECONDS = 3_600  # seconds between two deletions of old entries


class Limits(NamedTuple):
    """Time limits of a command. Times are milliseconds of the host's monotonic clock: they are valid until it reboots.

    SIGTERM is sent at `kill_at`, and SIGKILL `grace` milliseconds after SIGTERM.
    """

    kill_at: int | None = None
    grace: int | None = None


NO_LIMITS = Limits()


class Entry(NamedTuple):
    """Journal entry of a command: when it was begun, its process if it was started, and its exit status if it ended."""

    at: int = 0  # seconds; greater with each attempt
    boot: str | None = None
    pid: int | None = None
    ticks: int | None = None  # start time of the process, in clock ticks since boot
    status: int | None = None
    kill_at: int | None = None  # see `Limits`
    grace: int | None = None
    asked_at: int | None = None  # when SIGTERM was sent, in milliseconds of the host's monotonic clock
    output: str | None = None  # file of the captured output, relative to its folder

    @property
    def alive(self) -> bool:
        """Whether the process still runs: the same process, not another one that has its process id now."""
        if self.pid is None or self.ticks is None or self.status is not None:  # no ticks: ended before it was recorded
            return False
        return (self.boot, self.ticks) == (boot(), ticks(self.pid))

    @property
    def has_timed_out(self) -> bool:
        """Whether a worker has ended the command because of its timeout."""
        return self.kill_at is not None and self.asked_at is not None and self.asked_at >= self.kill_at


class Journal:
    """Folder that the workers of one host share: the journal, and a status file for each running command."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = self.folder.stat()
        self.id = f"{facts.st_dev}-{facts.st_ino}"  # distinguishes the journals of one host
        with closing(self._open()) as connection:
            connection.executescript(_CREATE_TABLE)
            _add_columns(connection)
        self.notes, self.cleaned = NoteWriter(self.folder / "journal.db"), -_CLEANUP_SECONDS

    def begin(self, key: str, now: int) -> bool:
        """Record that a command is about to start. Returns False if its key was begun before."""
        if now >= self.cleaned + _CLEANUP_SECONDS:
            self.cleaned = now
            self.notes.execute(_DELETE_OLD, now - _RETENTION_SECONDS)
        return self.notes.execute(_BEGIN, key, now, durable=True).changed == 1

    def begin_again(self, key: str, now: int, entry: Entry) -> bool:
        """Record another attempt in place of a failed one. Returns False if the entry has changed since `entry`."""
        return self.notes.execute(_BEGIN_AGAIN, now, key, *entry[:4], durable=True).changed == 1

    def started(self, key: str, pid: int, limits: Limits = NO_LIMITS, output: str | None = None) -> Entry:
        """Record the process of a command. After a power failure, neither the process nor this record is needed."""
        entry = process_entry(pid, limits, output)
        self.notes.execute(_RECORD_PROCESS, *entry[1:4], *limits, output, key)
        return entry

    def asked(self, key: str, at: int) -> bool:
        """Record that a command is asked to end now. Returns False if it has been asked before, or has ended."""
        return self.notes.execute(_RECORD_REQUEST, at, key).changed == 1

    def ended(self, key: str, status: int) -> None:
        """Record the exit status of a command and remove its status file."""
        self.notes.execute(_RECORD_STATUS, status, key)
        self._status_path(key).unlink(missing_ok=True)

    def look(self, key: str) -> Entry | None:
        """Return the entry of a key; None if it was never begun here."""
        rows = self.notes.execute(_SELECT_ENTRY, key).rows
        return Entry(*rows[0]) if rows else None

    def unended(self) -> list[str]:
        """Return the keys whose processes were started and whose end is not recorded."""
        return [key for (key,) in self.notes.execute(_SELECT_UNENDED).rows]

    def status_file(self, key: str) -> int:
        """Open the file in which a command that outlives its worker leaves its status. The caller closes it."""
        return os.open(self._status_path(key), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)

    def status(self, key: str) -> int | None:
        """Return the exit status of a command: from its status file, else from the journal; None if it is unknown."""
        try:
            with self._status_path(key).open("rb") as file:
                text = file.read(_MAX_STATUS_BYTES + 1)  # the command itself can write to the file
        except OSError:
            text = b""
        if _STATUS.fullmatch(text) and int(text) <= _MAX_STATUS:
            return int(text)
        entry = self.look(key)
        return entry.status if entry else None

    def ended_at(self, key: str) -> int | None:
        """Return when a command left its status, in milliseconds of the host's clock; None if it has left none."""
        try:
            facts = self._status_path(key).stat()
        except OSError:
            return None
        return facts.st_mtime_ns // 1_000_000 if facts.st_size else None

    def _status_path(self, key: str) -> Path:
        return self.folder / f"{key}.status"

    def _open(self) -> sqlite3.Connection:
        return open_file(self.folder / "journal.db")


def process_entry(pid: int, limits: Limits = NO_LIMITS, output: str | None = None) -> Entry:
    """Return the entry of a process that was just started."""
    return Entry(0, boot(), pid, ticks(pid), None, *limits, None, output)


def _add_columns(connection: sqlite3.Connection) -> None:
    """Add the columns that the table of an earlier release lacks. Another worker may be doing the same."""
    connection.execute("BEGIN IMMEDIATE")
    existing = {name for (name,) in connection.execute(_SELECT_COLUMNS)}
    for name, statement in _ADD_COLUMNS.items():
        if name not in existing:
            connection.execute(statement)
    connection.execute("COMMIT")
