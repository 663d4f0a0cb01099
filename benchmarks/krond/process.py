"""Figures of a process, from /proc."""

from __future__ import annotations

import os
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """A process that runs."""

    def __init__(self, pid: int) -> None:
        self.folder = Path(f"/proc/{pid}")

    def cpu(self) -> float:
        """Return the seconds of CPU time that it has used."""
        fields = (self.folder / "stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def cpu_percent(self, seconds: float) -> float:
        """Return the share of one CPU that it uses in the coming seconds."""
        before, began = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu() - before) / (time.monotonic() - began) * 100

    def rss(self) -> float:
        """Return its resident memory in megabytes."""
        return self._status("VmRSS") / 1024

    def threads(self) -> int:
        """Return how many threads it has."""
        return self._status("Threads")

    def _status(self, name: str) -> int:
        lines = (self.folder / "status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


def starts_in(path: Path) -> list[float]:
    """Return the times that commands have noted in a file."""
    return [float(line) for line in path.read_text().splitlines()] if path.exists() else []
