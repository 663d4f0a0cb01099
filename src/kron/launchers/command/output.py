"""Captured output of host commands: a file per run, which the command writes by itself and which outlives the worker.

If a command writes more than 1 MB, the first 64 kB are kept, the number of omitted bytes, and the latest output. The
jobs of one krontab file keep at most 100 MB together.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from errno import ENOENT
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kron.launchers.command.output_limit import OutputLimit
from kron.rules.run import Run

FOLDER_NAME = "output"  # in the folder of the journal
CHECK_SECONDS = 2.0  # seconds between two checks of the sizes of the files of running commands
MAX_BYTES = 1_000_000  # size from which a file is shortened
HEAD_BYTES = 64_000
TAIL_BYTES = 4_000  # of the latest output, for the excerpt of a failed run
MAX_RUNS = 50  # files that are kept of each job
MAX_AGE_SECONDS = 30 * 86_400
MAX_REMOVALS = 1_000  # files that one cleanup removes
MAX_FOLDERS = 100_000  # folders that are listed at once
MAX_TRIES = 3  # to create a file while other workers remove empty folders
_OMITTED = re.compile(rb"\n\[kron: +(\d{1,15}) bytes omitted\]\n")
_OMITTED_LENGTH = 39  # bytes of that text


class Output(NamedTuple):
    """Captured output of a run: the open file, and its name in the folder of all outputs."""

    file: int
    name: str


class Outputs:
    """Folder of captured outputs: a folder per table, with a folder per job, with a file per run.

    Only the worker's user can enter it.
    """

    def __init__(self, folder: Path, *, beat: float = CHECK_SECONDS) -> None:
        self.folder, self.beat = folder, beat
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.watched: dict[str, Path] = {}
        self.watching: asyncio.Task[None] | None = None
        self.folders: Iterator[Path] = iter(())
        self.limit = OutputLimit()

    def create(self, run: Run) -> Output:
        """Create the file of a run and open it for appending. The caller closes it.

        Names of jobs are not used as names of files.
        """
        name = output_name(run.identity, run.key)
        path, flags = self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        for _ in range(MAX_TRIES):
            with suppress(FileNotFoundError):  # a worker has just removed an empty folder
                path.parent.parent.mkdir(mode=0o700, exist_ok=True)
                path.parent.mkdir(mode=0o700, exist_ok=True)
                path.unlink(missing_ok=True)  # of an earlier attempt
                return Output(os.open(path, flags | os.O_CLOEXEC, 0o600), name)
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(path))

    def remove(self, output: Output | None) -> None:
        """Remove the file of a command that was not started."""
        if output is not None:
            (self.folder / output.name).unlink(missing_ok=True)

    def watch(self, key: str, name: str | None) -> None:
        """Shorten the file of a running command whenever it becomes too large. One task does that for all."""
        if name is None:
            return
        self.watched[key] = self.folder / name
        if self.watching is None or self.watching.done():
            self.watching = asyncio.create_task(self._shorten_watched())

    def forget(self, key: str) -> None:
        """Stop watching the file of a command."""
        self.watched.pop(key, None)

    async def _shorten_watched(self) -> None:
        while self.watched:
            await asyncio.sleep(self.beat)
            await asyncio.to_thread(shorten, *self.watched.values())

    def tail(self, name: str | None) -> str:
        """Return the end of a file, from the beginning of a line if possible; empty if the file cannot be read."""
        return "" if name is None else tail(self.folder / name)

    def clean(self, name: str | None, now: float) -> None:
        """Remove the file of an ended run if it is empty, old files of the same job, and old files of one other job.

        In this way all jobs get their turn. Of a table with too much output, the oldest files are removed.
        """
        if name is None:
            return
        path = self.folder / name
        with suppress(OSError):
            shorten(path)
            if path.stat().st_size == 0:
                path.unlink()
            else:
                self.limit.add(path.parent.parent, path.stat().st_size, set(self.watched.values()))
        _remove_old(path.parent, now)
        other = next(self.folders, None)
        if other is not None:
            _remove_old(other, now)
        else:
            with suppress(OSError):
                self.folders = iter(list(islice(self.folder.glob("*/*"), MAX_FOLDERS)))


def shorten(*paths: Path) -> None:
    """Shorten the files that have become too large. Their commands can go on writing at the end.

    Output that is written at the same moment can be lost.
    """
    for path in paths:
        with suppress(OSError):
            if path.stat().st_size > MAX_BYTES:
                _shorten(path)


def _shorten(path: Path) -> None:
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        size, end = os.fstat(file).st_size, HEAD_BYTES + _OMITTED_LENGTH
        earlier = _OMITTED.fullmatch(os.pread(file, _OMITTED_LENGTH, HEAD_BYTES))
        omitted = size - end + int(earlier[1]) if earlier else size - HEAD_BYTES
        latest = os.pread(file, TAIL_BYTES, size - TAIL_BYTES)
        text = b"\n[kron: %15d bytes omitted]\n" % (omitted - len(latest))
        os.pwrite(file, text + latest, HEAD_BYTES)
        os.ftruncate(file, end + len(latest))
    finally:
        os.close(file)


def output_name(identity: str, key: str) -> str:
    """Return the name of the file of a run, in the folder of all outputs.

    An identity without a krontab file counts as a table of its own.
    """
    return f"{_hash(identity.rpartition(':')[0] or identity)}/{_hash(identity)}/{key}.out"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def tail(path: Path, size: int = TAIL_BYTES) -> str:
    """Return the last `size` bytes of a file, from the beginning of a line if possible; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - size)
            file.seek(start)
            text = file.read(size)
    except OSError:
        return ""
    if start and b"\n" in text[:-1]:
        text = text.partition(b"\n")[2]
    return text.decode(errors="replace")


def _remove_old(folder: Path, now: float) -> None:
    with suppress(OSError):
        times = {path: path.stat().st_mtime for path in folder.iterdir()}
        shorten(*times)  # a process that a command has left may go on writing
        newest_first = sorted(times, key=lambda path: times[path], reverse=True)
        old = [path for n, path in enumerate(newest_first) if n >= MAX_RUNS or times[path] < now - MAX_AGE_SECONDS]
        for path in old[:MAX_REMOVALS]:
            path.unlink(missing_ok=True)
        if len(old) == len(times):
            folder.rmdir()  # fails if a new file is there
            folder.parent.rmdir()
