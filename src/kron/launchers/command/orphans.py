"""Orphans: processes that commands have left running, and that the kernel gives to this process as children.

This is for a process that is a subreaper, such as a daemon. It waits for each orphan by its process id, and never for
any child, because others wait for their own children.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from pathlib import Path

MAX_CHILDREN = 50_000  # children that one look considers
_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Let the kernel give this process the orphans of its descendants. It stays so until the process ends.

    Raises:
        OSError: The kernel refuses.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


class Orphans:
    """Orphans of this process, and how many of them have ended.

    An orphan is a child in another session than this process that this process has not started. Own children are in the
    session of this process, or the caller names them. An orphan is reaped only if an earlier look has seen it.

    Process 1 of a container gets the orphans of all sessions, also of its own (`any_session`). Then the caller names
    every child that lives for longer than the time between two looks.

    Attributes:
        running: Number of orphans that had not ended at the last look.
        reaped: Number of orphans that have ended and were reaped.
    """

    def __init__(self, *, any_session: bool = False) -> None:
        self.any_session = any_session
        self.running = self.reaped = 0
        self.known: dict[int, int] = {}  # start time of each known orphan, by process id

    def look(self, own: Collection[int]) -> None:
        """Count the orphans, and reap those that have ended.

        Args:
            own: Process ids of children in other sessions that this process has started.
        """
        children = (pid for pid in islice(_children(), MAX_CHILDREN) if pid not in own)
        session = None if self.any_session else os.getsid(0)
        strangers = {pid: facts for pid in children if (facts := _facts(pid, session))}
        running = 0
        for pid, (is_zombie, start) in strangers.items():
            if not is_zombie:
                running += 1
            elif self.known.get(pid) == start and _reap(pid):
                self.reaped += 1
        self.known = {pid: start for pid, (_, start) in strangers.items()}
        self.running = running


def _children() -> list[int]:
    """Return the children of this process; none if the kernel does not list them."""
    pids = list[int]()
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            pids += map(int, path.read_text(encoding="ascii").split())
    return pids


def _facts(pid: int, session: int | None) -> tuple[bool, int] | None:
    """Return whether a child is a zombie, and its start time; None for a child in the session `session`."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return None
    return None if int(fields[3]) == session else (fields[0] == b"Z", int(fields[19]))


def _reap(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG) is not None
    except ChildProcessError:
        return False
