"""Hash chain: a JSON Lines file in which each line holds the hash of the line before it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from kron.errors import InvalidSetting

try:
    import fcntl
except ImportError:  # Windows: there the operator ensures that each process has its own file
    fcntl = None  # type: ignore[assignment]

FIRST_HASH = "0" * 64
READ_STEP_BYTES = 64 * 1024


class Chain:
    """Hash chain file of one process, open for appending. It contains complete lines only."""

    def __init__(self, path: Path) -> None:
        """Open and lock the file. Raise CONFIG if it is not writable or another process uses it."""
        self.path = path
        try:
            self.fd = self._open()
        except BlockingIOError:
            message = f"the audit log {path} is in use by another process"
            raise InvalidSetting("CONFIG", message, hint="set AUDIT_LOG to a different file for each process") from None
        except OSError as error:
            message = f"the audit log {path} is not writable: {error.strerror}"
            raise InvalidSetting("CONFIG", message, hint="set AUDIT_LOG to a writable file") from None
        last = _last_line(self.fd)
        self.hash = sha256(last).hexdigest() if last else FIRST_HASH

    def append(self, entry: dict[str, Any]) -> None:
        """Append a line. On OSError, nothing is written. If the file was moved away, a new file continues the chain."""
        if self._moved():
            new_fd = self._open()
            os.close(self.fd)
            self.fd = new_fd
        text = json.dumps({**entry, "before": self.hash}, sort_keys=True).encode()
        line, size = text + b"\n", os.fstat(self.fd).st_size
        written = 0
        try:
            written = os.write(self.fd, line)
        finally:
            if 0 < written < len(line):
                os.ftruncate(self.fd, size)
        if written != len(line):
            raise OSError("the line was written only partly")
        self.hash = sha256(text).hexdigest()

    def sync(self) -> None:
        """Wait until all written lines are on disk."""
        os.fsync(self.fd)

    def close(self) -> None:
        """Close the file."""
        os.close(self.fd)

    def _open(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            if fcntl:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise
        return fd

    def _moved(self) -> bool:
        try:
            path_stat = self.path.stat()
        except FileNotFoundError:
            return True
        file_stat = os.fstat(self.fd)
        return (path_stat.st_dev, path_stat.st_ino) != (file_stat.st_dev, file_stat.st_ino)


class Verdict(NamedTuple):
    """Result of a verification: number of intact lines, hash of the last, and place and reason of the break."""

    lines: int
    last: str
    broken: int | None = None
    reason: str = ""


def verify(lines: Iterable[str], after: str = FIRST_HASH) -> Verdict:
    """Verify that each line follows from the line before it, and the first from the hash `after`."""
    before, number = after, 0
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\n")
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            return Verdict(number - 1, before, number, "the line is not valid JSON")
        if not isinstance(entry, dict) or entry.get("before") != before:
            return Verdict(number - 1, before, number, "the line does not follow from the line before it")
        before = sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    return Verdict(number, before)


def broken(lines: Iterable[str]) -> int | None:
    """Return the number of the first line that does not follow from the line before it; None if all do."""
    return verify(lines).broken


def _last_line(fd: int) -> bytes:
    """Return the last complete line. An incomplete line after it, left by a crashed process, is truncated."""
    size, tail = os.fstat(fd).st_size, b""
    offset = size
    while offset > 0 and tail.count(b"\n") < 2:
        step = min(READ_STEP_BYTES, offset)
        offset -= step
        tail = os.pread(fd, step, offset) + tail
    complete_length = tail.rfind(b"\n") + 1
    if complete_length < len(tail):
        os.ftruncate(fd, size - (len(tail) - complete_length))
    return tail[:complete_length].rstrip(b"\n").rpartition(b"\n")[2]
