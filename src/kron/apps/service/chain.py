"""Hash chain: a file of JSON lines in which each line holds the hash of the line before it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from kron.errors import KronError

try:
    import fcntl
except ImportError:  # Windows: there the operator sees to it that one process has one file
    fcntl = None  # type: ignore[assignment]

FIRST = "0" * 64
STEP_BYTES = 64 * 1024


class Chain:
    """The file of one process, open for appending. A line that was not written as a whole is not in it."""

    def __init__(self, path: Path) -> None:
        """Open the file, and lock it; CONFIG if it cannot be written or another process has it."""
        self.path = path
        try:
            self.fd = self._open()
        except BlockingIOError:
            message = f"the audit log {path} is in use by another process"
            raise KronError("CONFIG", message, hint="give each process a file of its own") from None
        except OSError as error:
            message = f"the audit log {path} cannot be written: {error.strerror}"
            raise KronError("CONFIG", message, hint="set AUDIT_LOG to a file that can be written") from None
        last = _last_line(self.fd)
        self.hash = sha256(last).hexdigest() if last else FIRST

    def append(self, entry: dict[str, Any]) -> None:
        """Write a line; OSError, and no line, if that fails. A file that was moved away is followed by a new one."""
        if self._moved():
            fresh = self._open()
            os.close(self.fd)
            self.fd = fresh
        text = json.dumps({**entry, "before": self.hash}, sort_keys=True).encode()
        line, size = text + b"\n", os.fstat(self.fd).st_size
        written = 0
        try:
            written = os.write(self.fd, line)
        finally:
            if 0 < written < len(line):
                os.ftruncate(self.fd, size)
        if written != len(line):
            raise OSError("the line was cut off")
        self.hash = sha256(text).hexdigest()

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        os.fsync(self.fd)

    def close(self) -> None:
        """Let go of the file."""
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
            found = self.path.stat()
        except FileNotFoundError:
            return True
        mine = os.fstat(self.fd)
        return (found.st_dev, found.st_ino) != (mine.st_dev, mine.st_ino)


class Verdict(NamedTuple):
    """What a check of a chain has found: how many lines hold, the hash of the last, and where and why it breaks."""

    lines: int
    last: str
    broken: int | None = None
    reason: str = ""


def verify(lines: Iterable[str], after: str = FIRST) -> Verdict:
    """Check that each line follows from the line before it, and the first from the hash `after`."""
    before, number = after, 0
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\n")
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            return Verdict(number - 1, before, number, "it is not valid JSON")
        if not isinstance(entry, dict) or entry.get("before") != before:
            return Verdict(number - 1, before, number, "it does not follow from the line before it")
        before = sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    return Verdict(number, before)


def broken(lines: Iterable[str]) -> int | None:
    """The number of the first line that does not follow from the one before it; None if all do."""
    return verify(lines).broken


def _last_line(fd: int) -> bytes:
    """The last line. What follows it without a line feed was being written when a process died, and is cut off."""
    size, tail = os.fstat(fd).st_size, b""
    begin = size
    while begin > 0 and tail.count(b"\n") < 2:
        step = min(STEP_BYTES, begin)
        begin -= step
        tail = os.pread(fd, step, begin) + tail
    whole = tail.rfind(b"\n") + 1
    if whole < len(tail):
        os.ftruncate(fd, size - (len(tail) - whole))
    return tail[:whole].rstrip(b"\n").rpartition(b"\n")[2]
