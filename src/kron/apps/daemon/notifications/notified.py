"""Notified runs: what the daemon has told about already. It outlives the daemon, so that nothing is told twice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from kron.apps.daemon.notifications.finding import Trouble
from kron.launchers.command.note_writer import NoteWriter, open_file

DAY_MS = 86_400_000
KEEP_MS = 100 * DAY_MS  # longer than the records of ended runs are kept
CLEANUP_MS = 3_600_000  # between two deletions of old notes

_CREATE_TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS watched (identity TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS noted (key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS noted_at ON noted (at);
CREATE TABLE IF NOT EXISTS series (
    identity TEXT NOT NULL, occasion TEXT NOT NULL, cause TEXT NOT NULL,
    sent INTEGER NOT NULL, repeats INTEGER NOT NULL,
    PRIMARY KEY (identity, occasion)
) WITHOUT ROWID;
"""
_WATCH = "INSERT OR IGNORE INTO watched (identity, since) VALUES (?, ?)"
_SELECT_SINCE = "SELECT since FROM watched WHERE identity = ?"
_NOTE = "INSERT OR IGNORE INTO noted (key, at) VALUES (?, ?)"
_DELETE_OLD = "DELETE FROM noted WHERE at < ?"
_SELECT_SERIES = "SELECT cause, sent, repeats FROM series WHERE identity = ? AND occasion = ?"
_BEGIN_SERIES = "INSERT OR REPLACE INTO series (identity, occasion, cause, sent, repeats) VALUES (?, ?, ?, ?, 0)"
_COUNT_REPEAT = "UPDATE series SET repeats = repeats + 1 WHERE identity = ? AND occasion = ?"
_SELECT_PROBLEMS = "SELECT 1 FROM series WHERE identity = ? AND occasion <> 'late'"
_END_SERIES = "DELETE FROM series WHERE identity = ? AND occasion <> 'late'"


class Notified:
    """SQLite file of the daemon's state folder. One thread uses it. Times are milliseconds since 1970."""

    def __init__(self, path: Path) -> None:
        with closing(open_file(path)) as connection:
            connection.executescript(_CREATE_TABLES)
        path.chmod(0o600)
        self.notes, self.cleaned = NoteWriter(path), 0

    def watch(self, identities: Sequence[str], now: int) -> None:
        """Begin to watch jobs. What ended before is not told."""
        for identity in identities:
            self.notes.execute(_WATCH, identity, now)

    def since(self, identity: str) -> int | None:
        """Return since when a job is watched; None if it is not."""
        rows = self.notes.execute(_SELECT_SINCE, identity).rows
        return rows[0][0] if rows else None

    def note(self, key: str, now: int, *, durable: bool) -> bool:
        """Note a run before it is told about. Returns False if it was noted before."""
        if not 0 <= now - self.cleaned < CLEANUP_MS:
            self.cleaned = now
            self.notes.execute(_DELETE_OLD, now - KEEP_MS)
        return self.notes.execute(_NOTE, key, now, durable=durable).changed == 1

    def count(self, identity: str, trouble: Trouble, now: int) -> int | None:
        """Count a problem.

        Returns:
            None for a repeat within a day after the last message. Otherwise a message is due, and the result is the
            number of repeats that it stands for.
        """
        occasion, cause = str(trouble.occasion), trouble.cause
        rows = self.notes.execute(_SELECT_SERIES, identity, occasion).rows
        repeats = 0
        if rows and rows[0][0] == cause:
            if 0 <= now - rows[0][1] < DAY_MS:
                self.notes.execute(_COUNT_REPEAT, identity, occasion)
                return None
            repeats = rows[0][2]
        self.notes.execute(_BEGIN_SERIES, identity, occasion, cause, now)
        return repeats

    def has_series(self, identity: str) -> bool:
        """Return whether a job had problems since its last success."""
        return bool(self.notes.execute(_SELECT_PROBLEMS, identity).rows)

    def end_series(self, identity: str) -> None:
        """End the problems of a job, because a run succeeded."""
        self.notes.execute(_END_SERIES, identity)
