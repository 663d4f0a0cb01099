"""Ending of host commands: by their timeout, or because their run is canceled. A later worker of the host goes on."""

from __future__ import annotations

import asyncio
import logging
import signal
import sqlite3
import time
from math import inf
from typing import NamedTuple

from kron.launchers.command.cgroup import Cgroups
from kron.launchers.command.journal import Entry, Journal, Limits
from kron.launchers.command.process import Process
from kron.launchers.command.session import Session, end_session
from kron.timing.job import MAX_GRACE, Command
from kron.timing.schedule.policy import MILLISECOND

log = logging.getLogger("kron.launchers.command")

GRACE_MS = 10_000  # milliseconds between SIGTERM and SIGKILL
OVERDUE_MS = 5_000  # milliseconds that a command can exceed its limits before a worker that did not start it ends it
NOT_STARTED = -1  # status of a command that could not be started
OUT_OF_MEMORY = "the kernel killed a process of the command because memory ran out"
TIMED_OUT = "the command exceeded its timeout and was killed"


class Ending(NamedTuple):
    """Ending of one command, and the job that it belongs to, if that is known."""

    identity: str
    task: asyncio.Task[None]


class Endings:
    """Endings that this worker carries out, by key."""

    def __init__(self, journal: Journal, cgroups: Cgroups) -> None:
        self.journal, self.cgroups = journal, cgroups
        self.by_key: dict[str, Ending] = {}

    def begin(self, key: str, entry: Entry, identity: str = "") -> asyncio.Task[None]:
        """End a command in the background. Returns the task, which is the same if the command is being ended already.

        Args:
            key: Key of the run.
            entry: Its entry, with a process.
            identity: Identity of the job; empty if it is not known.
        """
        ending = self.by_key.get(key)
        if ending is None or identity:
            task = asyncio.create_task(self._end(key, entry)) if ending is None else ending.task
            self.by_key[key] = ending = Ending(identity, task)
            task.add_done_callback(lambda _: self.by_key.pop(key, None))
        return ending.task

    def begin_overdue(self, key: str, entry: Entry) -> None:
        """End a command that its worker should have ended before, and whose worker is probably gone."""
        if self.seconds_left(entry) < -OVERDUE_MS / 1000:
            self.begin(key, entry)

    def seconds_left(self, entry: Entry) -> float:
        """Return the seconds until a command must be asked to end, or killed if it was asked; negative if overdue."""
        at = entry.kill_at if entry.asked_at is None else entry.asked_at + grace_of(entry)
        return inf if at is None else (at - monotonic_ms()) / 1000

    async def wait_for_key(self, key: str) -> None:
        """Wait until a command has ended with all its processes, if it is being ended."""
        if key in self.by_key:
            await asyncio.wait({self.by_key[key].task})

    async def wait_for_job(self, identity: str, seconds: float) -> bool:
        """Wait for the commands of a job that are being ended. Returns False if they have not ended in time."""
        tasks = {ending.task for ending in self.by_key.values() if ending.identity == identity}
        return not tasks or not (await asyncio.wait(tasks, timeout=seconds))[1]

    async def _end(self, key: str, entry: Entry) -> None:
        if entry.pid is None:
            return
        keeper = Process(entry.pid, entry.ticks, is_child=False)
        try:
            if keeper.is_alive:  # checked after the pidfd is open
                now = monotonic_ms()
                asked_at = await self._record_request(key, now)
                grace_seconds = (asked_at + grace_of(entry) - now) / 1000
                session = Session(entry.pid, key, self.journal.id, self.cgroups)
                await end_session(session, keeper, max(0.0, grace_seconds), ask=asked_at == now)
        finally:
            keeper.close()

    async def _record_request(self, key: str, now: int) -> int:
        """Record that a command is asked to end. Returns when that was, if a worker has asked it before."""
        try:
            if not await asyncio.to_thread(self.journal.asked, key, now):
                entry = await asyncio.to_thread(self.journal.look, key)
                return now if entry is None or entry.asked_at is None else entry.asked_at
        except (OSError, sqlite3.Error) as error:  # a full disk must not prevent the end
            log.warning("the command journal cannot be written: %s", error)
        return now


def monotonic_ms() -> int:
    """Return milliseconds of the monotonic clock, which all processes of a host share until it reboots."""
    return time.monotonic_ns() // 1_000_000


def limits_of(command: Command) -> Limits:
    """Return the time limits of a command that has just been started."""
    kill_at = None if command.timeout is None else monotonic_ms() + command.timeout // MILLISECOND
    return Limits(kill_at, None if command.grace is None else min(command.grace, MAX_GRACE) // MILLISECOND)


def grace_of(entry: Entry) -> int:
    """Return the milliseconds between SIGTERM and SIGKILL."""
    return GRACE_MS if entry.grace is None else entry.grace


def killed_status(entry: Entry | None, *, out_of_memory: bool) -> int | None:
    """Return the status of a command that left none: a worker or the kernel has killed it, or it is unknown (None)."""
    is_killed = out_of_memory or (entry is not None and entry.asked_at is not None)
    return -signal.SIGKILL if is_killed else None


def cause_of(entry: Entry | None, status: int, *, out_of_memory: bool) -> str:
    """Return why a command failed, as far as that is known: its timeout, memory, or a signal; empty otherwise."""
    if (
        entry is not None
        and entry.asked_at is not None
        and entry.kill_at is not None
        and entry.asked_at >= entry.kill_at
    ):
        return TIMED_OUT
    if out_of_memory:
        return OUT_OF_MEMORY
    if status == NOT_STARTED:
        return ""
    number = status - 128 if status > 128 else -status
    try:
        name = signal.Signals(number).name
    except ValueError:
        return ""
    return f"ended by {name}" if status < 0 else f"the shell reported {name}"
