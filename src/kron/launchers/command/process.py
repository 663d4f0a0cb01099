"""Process of a host command, known by its id, its start time and the boot of its host. A pidfd tells when it ends."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

CHECK_SECONDS = 0.2  # seconds between two checks of a process, on a system without pidfds


class Facts(NamedTuple):
    """Facts of a process that the kernel reports."""

    group: int
    session: int
    ticks: int  # start time in clock ticks since boot


@lru_cache(1)
def boot() -> str:
    """Return the boot id of this host: it changes with every restart."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def facts(pid: int) -> Facts | None:
    """Return the facts of a process; None if it does not exist or is a zombie."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return None
    return None if state in (b"Z", b"X") else Facts(int(rest[1]), int(rest[2]), int(rest[18]))


def ticks(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot; None if it does not exist or is a zombie."""
    process_facts = facts(pid)
    return None if process_facts is None else process_facts.ticks


def open_pidfd(pid: int) -> int | None:
    """Return a pidfd of a process; None if the process does not exist, or the system has no pidfds."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


class Process:
    """Process that the running event loop follows: a child, or a process that another worker has started.

    No thread waits for it. `ended` is set when it has ended. Close it when it is no longer followed.
    """

    def __init__(self, pid: int, start: int | None, *, is_child: bool) -> None:
        self.pid, self.start, self.is_child, self.ended = pid, start, is_child, asyncio.Event()
        self.loop, self.pidfd = asyncio.get_running_loop(), open_pidfd(pid)
        self.next_check: asyncio.TimerHandle | None = None
        if self.pidfd is None:
            self._check()
        else:
            self.loop.add_reader(self.pidfd, self._set_ended)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs: the same process, not another one that has its process id now."""
        return self.start is not None and ticks(self.pid) == self.start

    async def ends_within(self, seconds: float) -> bool:
        """Return whether the process ends within some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # wait_for of Python 3.11 can lose a cancellation
                await self.ended.wait()
        return self.ended.is_set()

    def reap(self) -> int | None:
        """Return the exit status of a child that has ended, negative for a signal; None if it is not known."""
        if not self.is_child:
            return None
        kind, number = (os.P_PID, self.pid) if self.pidfd is None else (os.P_PIDFD, self.pidfd)
        with suppress(ChildProcessError):  # another part of this program has waited for the child
            result = os.waitid(kind, number, os.WEXITED | os.WNOHANG)
            if result is not None:
                return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
        return None

    def close(self) -> None:
        """Stop following the process."""
        if self.next_check is not None:
            self.next_check.cancel()
        pidfd, self.pidfd = self.pidfd, None
        if pidfd is not None:
            self.loop.remove_reader(pidfd)
            os.close(pidfd)

    def _set_ended(self) -> None:
        if self.pidfd is not None:
            self.loop.remove_reader(self.pidfd)  # it stays readable
        self.ended.set()

    def _check(self) -> None:
        if self.is_alive:
            self.next_check = self.loop.call_later(CHECK_SECONDS, self._check)
        else:
            self.ended.set()
