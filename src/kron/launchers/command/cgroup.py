"""cgroups of host commands: a folder of cgroup v2 per run, which no process of the run leaves by itself.

They exist only below a folder that is delegated to this worker, such as that of a systemd unit with `Delegate=yes`. The
worker is not moved. If the unit has `DelegateSubgroup=` too, the kernel counts the memory of each run.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path

MAX_FOLDERS = 10_000  # folders of earlier runs that are looked at when a worker starts
MAX_MEMBERS = 50_000  # processes of one run that are listed
KILLED_WAITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # seconds between tries to remove a cgroup whose processes are ending
_ROOTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))  # the second is that of a host with both versions
_OWN_CGROUP = Path("/proc/self/cgroup")
_DELEGATED = ("user.delegate", "trusted.delegate")  # attributes that systemd sets on a delegated folder


class Cgroups:
    """cgroups of the runs of one journal. Without a folder, each method does nothing.

    Args:
        folder: Delegated folder; None if there is none.
        journal: Id of the journal. Two journals can have runs with the same key.
    """

    def __init__(self, folder: Path | None, journal: str) -> None:
        self.folder, self.journal = None if folder is None else folder / "jobs", journal
        self.killed = set[str]()  # keys of runs whose processes were killed, until their cgroups are removed
        if self.folder is None:
            return
        try:
            self.folder.mkdir(exist_ok=True)
            for path in islice(self.folder.iterdir(), MAX_FOLDERS):
                _remove(path)
        except OSError:  # it is not ours after all
            self.folder = None
            return
        for parent in (self.folder.parent, self.folder):
            with suppress(OSError):  # processes are in the parent, or the controller is not delegated
                _write(parent / "cgroup.subtree_control", "+memory")

    def create(self, key: str) -> Path | None:
        """Create the cgroup of a run. Returns the file by which a process enters it; None without cgroups."""
        path = self._path(key)
        if path is None:
            return None
        _remove(path)  # that of an earlier attempt, so that its count of kills does not count
        try:
            path.mkdir(exist_ok=True)
        except OSError:
            return None
        return path / "cgroup.procs"

    def members(self, key: str) -> list[int]:
        """Return the ids of the processes of a run."""
        path = self._path(key)
        try:
            lines = [] if path is None else (path / "cgroup.procs").read_text(encoding="ascii").split()
        except OSError:
            return []
        return [int(line) for line in lines[:MAX_MEMBERS]]

    def kill(self, key: str) -> None:
        """Send SIGKILL to all processes of a run at once, so that none can create others. It needs Linux 5.14."""
        path = self._path(key)
        if path is not None:
            with suppress(OSError):
                _write(path / "cgroup.kill", "1")
                self.killed.add(key)

    def has_killed_for_memory(self, key: str) -> bool:
        """Return whether the kernel has killed a process of a run because memory ran out."""
        path = self._path(key)
        try:
            lines = [] if path is None else (path / "memory.events").read_text(encoding="ascii").splitlines()
        except OSError:  # the controller is not delegated
            return False
        return any(name == "oom_kill" and count != "0" for name, _, count in (line.partition(" ") for line in lines))

    def remove(self, key: str) -> None:
        """Remove the cgroup of a run, unless processes that the run has left are in it. A later worker tries again.

        Killed processes need a moment to end.
        """
        path = self._path(key)
        was_killed = key in self.killed
        self.killed.discard(key)
        if path is None or _remove(path) or not was_killed:
            return
        for seconds in KILLED_WAITS:
            time.sleep(seconds)
            if _remove(path):
                break

    def _path(self, key: str) -> Path | None:
        name = sha256(f"{self.journal}\n{key}".encode()).hexdigest()[:32]
        return None if self.folder is None else self.folder / name


def delegated_folder(own_cgroup: Path = _OWN_CGROUP, roots: tuple[Path, ...] = _ROOTS) -> Path | None:
    """Return the folder of cgroup v2 that is delegated to this process and that it can write to; None without one.

    It is the process's own folder or the one above. Root can write to each folder, so systemd must have marked it.
    """
    try:
        lines = own_cgroup.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    own_path = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    root = next((root for root in roots if (root / "cgroup.controllers").exists()), None)
    if not own_path or root is None:  # the root folder belongs to the host
        return None
    own = root / own_path
    return next((folder for folder in (own, own.parent) if folder != root and _is_delegated(folder)), None)


def _is_delegated(folder: Path) -> bool:
    try:
        is_own = folder.stat().st_uid == os.geteuid() != 0
    except OSError:
        return False
    is_marked = any(_attribute(folder, name) == b"1" for name in _DELEGATED)
    return (is_own or is_marked) and all(os.access(path, os.W_OK) for path in (folder, folder / "cgroup.procs"))


def _attribute(folder: Path, name: str) -> bytes:
    try:
        return os.getxattr(folder, name)
    except OSError:
        return b""


def _write(path: Path, text: str) -> None:
    """Write to a file of the kernel, which is never created."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def _remove(path: Path) -> bool:
    """Remove a cgroup. Returns whether it is gone."""
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
