"""The journal of a host: every key that was ever begun here. It is on the disk before anything is started."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

_TABLE = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS begun (
    key TEXT PRIMARY KEY, at INTEGER NOT NULL, boot TEXT, pid INTEGER, ticks INTEGER, status INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS begun_at ON begun (at);
CREATE INDEX IF NOT EXISTS begun_unended ON begun (key) WHERE pid IS NOT NULL AND status IS NULL;
"""
_BEGIN = "INSERT OR IGNORE INTO begun (key, at) VALUES (?, ?)"
_AGAIN = """
UPDATE begun SET at = max(?, at + 1), boot = NULL, pid = NULL, ticks = NULL
WHERE key = ? AND at = ? AND boot IS ? AND pid IS ? AND ticks IS ? AND status IS NULL
"""
_STARTED = "UPDATE begun SET boot = ?, pid = ?, ticks = ? WHERE key = ?"
_ENDED = "UPDATE begun SET status = ? WHERE key = ?"
_LOOK = "SELECT at, boot, pid, ticks, status FROM begun WHERE key = ?"
_UNENDED = "SELECT key FROM begun WHERE pid IS NOT NULL AND status IS NULL ORDER BY key"
_FORGET = "DELETE FROM begun WHERE at < ?"
_KEPT = 400 * 86_400  # seconds: a period of more than a year ago comes no more


class Entry(NamedTuple):
    """What is known of a command that was begun: when, its process, if it came so far, and how that ended."""

    at: int = 0  # seconds; later with each try
    boot: str | None = None
    pid: int | None = None
    ticks: int | None = None  # when the process began, in the kernel's count since the start of the machine
    status: int | None = None

    @property
    def alive(self) -> bool:
        """Whether its process still runs: the same one, not another that has its number now."""
        if self.pid is None or self.ticks is None or self.status is not None:  # without ticks: over before it was noted
            return False
        return (self.boot, self.ticks) == (boot(), ticks(self.pid))


class Journal:
    """A folder that the workers of one host share: the journal, and a file for the status of each command that runs."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(self._open()) as file:
            file.executescript(_TABLE)

    def begin(self, key: str, now: int) -> bool:
        """Note that a command is about to be started; false if it ever was."""
        self._write(_FORGET, now - _KEPT)
        return self._write(_BEGIN, key, now)

    def begin_again(self, key: str, now: int, known: Entry) -> bool:
        """The same in the place of a try that came to nothing; false if it is not as known any more."""
        return self._write(_AGAIN, now, key, *known[:4])

    def started(self, key: str, pid: int) -> None:
        """Note its process."""
        self._write(_STARTED, boot(), pid, ticks(pid), key)

    def ended(self, key: str, status: int) -> None:
        """Note how it ended."""
        self._write(_ENDED, status, key)
        self._file(key).unlink(missing_ok=True)

    def look(self, key: str) -> Entry | None:
        """What is known of a key; None if it was never begun here."""
        with closing(self._open()) as file:
            row = file.execute(_LOOK, (key,)).fetchone()
        return Entry(*row) if row else None

    def unended(self) -> list[str]:
        """The keys whose processes were started, and whose ends nobody has noted."""
        with closing(self._open()) as file:
            return [key for (key,) in file.execute(_UNENDED)]

    def status_file(self, key: str) -> int:
        """Where a command that outlives its worker leaves its status: an open file, to be closed by who asks."""
        return os.open(self._file(key), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)

    def status(self, key: str) -> int | None:
        """How a command has ended: by what it has left in its file, else by what was noted. None if nobody knows."""
        try:
            said = self._file(key).read_text(encoding="ascii")
        except (OSError, ValueError):
            said = ""
        if said.endswith("\n") and said.strip().isdigit():
            return int(said)
        known = self.look(key)
        return known.status if known else None

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.status"

    def _write(self, statement: str, *values: object) -> bool:
        with closing(self._open()) as file:
            return file.execute(statement, values).rowcount == 1

    def _open(self) -> sqlite3.Connection:
        """Each write is a transaction of its own, and on the disk when it returns."""
        file = sqlite3.connect(self.folder / "journal.db", timeout=10, isolation_level=None)
        file.execute("PRAGMA synchronous = FULL")
        return file


def boot() -> str:
    """The name of this run of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def ticks(pid: int) -> int | None:
    """When a process began; None if it is not there, or only waits to be buried."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else int(rest[18])
