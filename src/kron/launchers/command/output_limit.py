"""Output limit: how many bytes of captured output the jobs of one krontab file keep. The oldest files go first."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MAX_TABLE_BYTES = 100_000_000
KEPT_BYTES = MAX_TABLE_BYTES * 3 // 4  # after a removal, so that the next one is not due at once
MAX_TABLES = 10_000  # tables whose sizes are remembered


class _SizedFile(NamedTuple):
    changed: float
    size: int
    path: Path


class OutputLimit:
    """Sizes of the folders of tables. A folder is listed when it is first used, and when it may be too large."""

    def __init__(self) -> None:
        self.sizes, self.lock = dict[Path, int](), threading.Lock()

    def add(self, folder: Path, size: int, in_use: Collection[Path]) -> None:
        """Count a new file in the folder of a table. Remove the oldest files if the folder has become too large.

        Args:
            folder: Folder of the table.
            size: Size of the new file, which is in the folder.
            in_use: Files of running commands. They stay.
        """
        with self.lock:
            known = self.sizes.get(folder)
            total = sum(file.size for file in _files(folder)) if known is None else known + size
            if total > MAX_TABLE_BYTES:
                total = _remove_oldest(folder, in_use)
            if len(self.sizes) >= MAX_TABLES:
                self.sizes.clear()
            self.sizes[folder] = total


def _remove_oldest(folder: Path, in_use: Collection[Path]) -> int:
    """Remove the oldest files of a table that is too large. Returns the size of the rest."""
    files = sorted(_files(folder))
    total = sum(file.size for file in files)
    if total <= MAX_TABLE_BYTES:
        return total  # files were removed for their age since they were counted
    for file in files:
        if total <= KEPT_BYTES:
            break
        if file.path not in in_use:
            with suppress(OSError):
                file.path.unlink()
                total -= file.size
    return total


def _files(folder: Path) -> Iterator[_SizedFile]:
    """Yield the files of all jobs of a table."""
    for job in _entries(folder):
        for entry in _entries(Path(job.path)):
            with suppress(OSError):  # it has just been removed
                status = entry.stat(follow_symlinks=False)
                yield _SizedFile(status.st_mtime, status.st_size, Path(entry.path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
