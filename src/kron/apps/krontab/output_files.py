"""Output files: the captured output of runs, as the command launcher has written it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path
from typing import NamedTuple

from kron.launchers.command.output import FOLDER_NAME, TAIL_BYTES, output_name

READ_BYTES = 1 << 20  # of one file at once


class OutputFile(NamedTuple):
    """Captured output of a run: when it was last written, the key of the run, and the file."""

    changed: float
    key: str
    path: Path


def output_folder(journal: Path, identity: str) -> Path:
    """Return the folder that has the output of a job."""
    return (journal / FOLDER_NAME / output_name(identity, "")).parent


def newest_outputs(folders: Iterable[Path], count: int) -> list[OutputFile]:
    """Return the files that were written last, the newest last."""
    return nlargest(count, (file for folder in folders for file in _files(folder)))[::-1]


def _files(folder: Path) -> list[OutputFile]:
    files = list[OutputFile]()
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # it has just been removed
                files.append(OutputFile(entry.stat().st_mtime, entry.name.removesuffix(".out"), Path(entry.path)))
    return files


@dataclass
class Reader:
    """Reader of a file that grows. It begins with the last lines."""

    path: Path
    position: int = -1
    waiting: bytes = b""  # incomplete line

    def lines(self, *, whole: bool) -> list[str]:
        """Return what was written since the last call.

        With `whole`, an incomplete line waits until it is complete, or has not grown between two calls.
        """
        try:
            with self.path.open("rb") as file:
                content = self._read(file.fileno())
        except OSError:  # it has been removed
            return []
        end = content.rfind(b"\n") + 1 if whole and content != self.waiting else len(content)
        self.waiting = content[end:]
        self.position += end
        return content[:end].decode(errors="replace").splitlines()

    def _read(self, file: int) -> bytes:
        size = os.fstat(file).st_size
        if self.position < 0 or self.position > size:  # new, or shortened by the daemon
            self.position = max(0, size - TAIL_BYTES)
            rest = os.pread(file, TAIL_BYTES, self.position)
            cut = rest.find(b"\n", 0, -1) + 1 if self.position else 0
            self.position += cut
            return rest[cut:]
        return os.pread(file, READ_BYTES, self.position)
