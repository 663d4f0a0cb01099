"""Processes of one run: those of the command's session, of its cgroup, and those elsewhere that still have its key.

Without a cgroup, a process that leaves the session and clears its environment is not found.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kron.launchers.command.cgroup import Cgroups
from kron.launchers.command.process import Process, facts, open_pidfd

KEY_VARIABLE, JOURNAL_VARIABLE = "KRON_KEY", "KRON_JOURNAL"
MAX_PROCESSES = 50_000  # processes of the host that one search looks at
MAX_ENVIRONMENT = 256 * 1024  # bytes of the environment of a process that are searched for the key
SEARCH_SECONDS = 0.2  # seconds between two searches for processes that have not ended
START_SECONDS = 0.05  # seconds in which the keeper starts the command, and in which a killed process ends
MAX_KILLS = 20  # rounds of SIGKILL: processes can create others until the last round
KEEPER_SECONDS = 10.0  # seconds for the keeper to record the status after the command was killed


class Session(NamedTuple):
    """Session of a run: its id, which is the process id of the keeper, the key of the run, and the id of the journal.

    Two stores can have runs with the same key on one host. They have different journals.
    """

    id: int
    key: str
    journal: str
    cgroups: Cgroups | None = None

    def members(self) -> list[int]:
        """Return the ids of all processes of the run, without the keeper."""
        pids = {pid for pid in islice(_all_processes(), MAX_PROCESSES) if self._has(pid)}
        return sorted(pids | self._cgroup_members())

    def kill_cgroup(self) -> None:
        """Send SIGKILL to all processes in the cgroup of the run, including the keeper."""
        if self.cgroups is not None:
            self.cgroups.kill(self.key)

    def _cgroup_members(self) -> set[int]:
        """Return the processes in the cgroup of the run that have not ended, without the keeper."""
        pids = [] if self.cgroups is None else self.cgroups.members(self.key)
        return {pid for pid in pids if pid not in (self.id, os.getpid()) and facts(pid) is not None}

    def is_alive(self) -> bool:
        """Return whether a process of the run, apart from the keeper, has not ended."""
        return bool(self.members())

    def terminate(self) -> bool:
        """Send SIGTERM to all processes of the run. Returns False if the keeper has not started the command yet.

        The keeper gets the signal, too, and survives it: it is in the process group of the command.
        """
        pids = self.members()
        outside = [pid for pid in pids if not self._is_in_group(pid)]
        if len(outside) < len(pids):
            with suppress(OSError):
                os.killpg(self.id, signal.SIGTERM)
        for pid in outside:
            self._send(pid, signal.SIGTERM)
        return bool(pids)

    def kill(self) -> bool:
        """Send SIGKILL to all processes of the run, without the keeper. Returns False if there were none."""
        pids = self.members()
        for pid in pids:
            self._send(pid, signal.SIGKILL)
        return bool(pids)

    def _is_in_group(self, pid: int) -> bool:
        process_facts = facts(pid)
        return process_facts is not None and process_facts.group == self.id

    def _has(self, pid: int) -> bool:
        if pid in (self.id, os.getpid()):
            return False
        process_facts = facts(pid)
        return process_facts is not None and (process_facts.session == self.id or self._has_key(pid))

    def _has_key(self, pid: int) -> bool:
        try:
            with Path(f"/proc/{pid}/environ").open("rb") as file:
                variables = file.read(MAX_ENVIRONMENT).split(b"\0")
        except OSError:  # it has ended, or belongs to another user
            return False
        wanted = f"{KEY_VARIABLE}={self.key}", f"{JOURNAL_VARIABLE}={self.journal}"
        return all(text.encode() in variables for text in wanted)

    def _send(self, pid: int, number: int) -> None:
        """Send a signal to a process, unless its id belongs to another process by now."""
        pidfd = open_pidfd(pid)
        with suppress(OSError):
            if pidfd is None:
                os.kill(pid, number)
            elif self._has(pid) or pid in self._cgroup_members():
                signal.pidfd_send_signal(pidfd, number)
        if pidfd is not None:
            os.close(pidfd)


async def end_session(session: Session, keeper: Process, grace_seconds: float, *, ask: bool) -> None:
    """End all processes of a run: SIGTERM, and SIGKILL for those that have not ended after `grace_seconds`.

    The keeper survives SIGTERM and gets no SIGKILL before the others have ended, so that it records their status.

    Args:
        session: Session of the run.
        keeper: Process of the keeper.
        grace_seconds: Seconds until SIGKILL.
        ask: Whether to send SIGTERM; False if a worker has sent it before.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + grace_seconds
    while ask and not keeper.ended.is_set() and loop.time() < end:
        ask = not await asyncio.to_thread(session.terminate)
        await keeper.ends_within(START_SECONDS)
    await keeper.ends_within(max(0.0, end - loop.time()))
    while loop.time() < end and await asyncio.to_thread(session.is_alive):
        await asyncio.sleep(SEARCH_SECONDS)
    for _ in range(MAX_KILLS):
        if not await asyncio.to_thread(session.kill):
            break
        await asyncio.sleep(START_SECONDS)
    else:
        await asyncio.to_thread(session.kill_cgroup)  # they create others faster than they are killed one by one
    if not await keeper.ends_within(KEEPER_SECONDS):
        with suppress(OSError):
            os.killpg(session.id, signal.SIGKILL)
        await keeper.ends_within(KEEPER_SECONDS)


def _all_processes() -> Iterator[int]:
    with os.scandir("/proc") as entries:
        yield from (int(entry.name) for entry in entries if entry.name.isdigit())
