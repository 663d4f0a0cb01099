"""The CPU that processes have used."""

from __future__ import annotations

import os
from pathlib import Path

from tests.postgres import Server


def of_server(server: Server) -> dict[int, float]:
    """The seconds of CPU that each process of the server has used."""
    postmaster = (server.data / "postmaster.pid").read_text(encoding="utf-8").split()[0]
    return {pid: used for pid, (parent, used) in _all().items() if parent == postmaster}


def of(pids: list[int]) -> dict[int, float]:
    """The seconds of CPU that those processes have used."""
    return {pid: used for pid, (_, used) in _all().items() if pid in pids}


def of_machine() -> float:
    """The seconds of CPU that all processes of the machine have used, on all of its cores."""
    user, nice, system, _, _, *interrupts = _cores()[:7]
    return sum((user, nice, system, *interrupts))


def by_host() -> float:
    """The seconds in which work of this virtual machine waited because its host gave the CPU to others."""
    return _cores()[7]


def between(before: dict[int, float], after: dict[int, float]) -> float:
    """The seconds from one look to another."""
    return sum(used - before.get(pid, 0) for pid, used in after.items())


def _cores() -> list[float]:
    numbers = Path("/proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]
    return [int(number) / os.sysconf("SC_CLK_TCK") for number in numbers]


def _all() -> dict[int, tuple[str, float]]:
    found = dict[int, tuple[str, float]]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        found[int(stat.parent.name)] = fields[1], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found
