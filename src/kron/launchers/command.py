"""Commands of this host. A journal knows every key that was begun, so that none runs twice, whatever is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from math import inf
from subprocess import SubprocessError
from typing import Any

from kron.clock import Clock, SystemClock
from kron.core.answer import Answer, Receipt, Report
from kron.core.job import Command
from kron.core.policy import SECOND, Interrupted
from kron.core.run import Run
from kron.launcher import Launch, Tell
from kron.launchers.journal import Entry, Journal
from kron.launchers.rights import open_output, rights_of

SHELL = "/bin/sh"
SEEN = ("HOME", "LANG", "LOGNAME", "PATH", "TZ", "USER")  # what a command sees of the worker's environment
BEAT = 2.0  # seconds between two looks at a process that is no child of this worker
STARTS = 8  # commands begun at once: each waits for the disk of the journal
PATIENCE = 5.0  # seconds that a command waits for its turn to be begun; less than a launch may take
UNBEGUN = Receipt(Answer.UNSENT, 1_000)

# The line is given whole to its shell, as it was written. Its status is left in a file, which is our standard input,
# for who asks when this worker is no more.
_KEEPER = '"$0" -c "$1" </dev/null; said=$?; echo "$said" >&0; exit "$said"'

# The same for another user, whose rights it has from the beginning: it enters the folder and opens the outputs as him.
_KEEPER_AS = 'cd -- "$2" && "$0" -c "$1" </dev/null >>"$3" 2>>"$4"; said=$?; echo "$said" >&0; exit "$said"'


class CommandLauncher:
    """Starts the commands of jobs, each in a session of its own: it outlives this worker."""

    def __init__(self, journal: Journal, tell: Tell, clock: Clock | None = None, *, beat: float = BEAT) -> None:
        self.journal, self.tell, self.clock, self.beat = journal, tell, clock or SystemClock(), beat
        self.gate, self.patience = asyncio.Semaphore(STARTS), PATIENCE
        self.beginning: set[asyncio.Task[Answer]] = set()
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.running: dict[str, int] = {}

    def adopt(self) -> None:
        """Follow what workers before this one have started, and not seen the end of."""
        for key in self.journal.unended():
            self._keep(key, self._follow(key, self.journal.look(key) or Entry()))

    async def start(self, launch: Launch) -> Answer | Receipt:
        """Start it, unless it was begun before: then what became of it is the answer.

        If its turn does not come in time, it was not begun. Once begun, it is followed to its end, even if the caller
        gives up.
        """
        command = launch.job.command
        if command is None:
            return Answer.REJECTED
        try:
            async with asyncio.timeout(self.patience):
                await self.gate.acquire()
        except TimeoutError:
            return UNBEGUN
        task = asyncio.ensure_future(self._begin(command, launch))
        self.beginning.add(task)
        task.add_done_callback(self._begun)
        return await asyncio.shield(task)

    def _begun(self, task: asyncio.Task[Answer]) -> None:
        self.beginning.discard(task)
        self.gate.release()

    async def _begin(self, command: Command, launch: Launch) -> Answer:
        key, now = launch.run.key, int(self.clock.now())
        if await asyncio.to_thread(self.journal.begin, key, now):
            return await self._spawn(command, launch)
        known = await asyncio.to_thread(self.journal.look, key) or Entry()
        if known.alive or await asyncio.to_thread(self.journal.status, key) is not None:
            self._keep(key, self._follow(key, known))
            return Answer.OK
        again = launch.job.schedule.policy.interrupted is Interrupted.RESTART
        if again and await asyncio.to_thread(self.journal.begin_again, key, now, known):
            return await self._spawn(command, launch)
        return Answer.UNKNOWN

    async def cancel(self, run: Run) -> None:
        """Ask the command and all its children to end."""
        if run.key in self.running:
            _signal(self.running[run.key], signal.SIGTERM)

    async def _spawn(self, command: Command, launch: Launch) -> Answer:
        key = launch.run.key
        try:
            process = await self._process(command, key)
        except (OSError, LookupError, ValueError, SubprocessError):  # no such folder, user or file, or no right to it
            await asyncio.to_thread(self.journal.ended, key, -1)
            return Answer.REJECTED
        await asyncio.to_thread(self.journal.started, key, process.pid)
        self.tasks.pop(key, None)  # what follows an attempt before this one
        self._keep(key, self._await(process, command, launch))
        self.running[key] = process.pid
        return Answer.OK

    async def _process(self, command: Command, key: str) -> Process:
        with ExitStack() as files:
            status = files.enter_context(os.fdopen(self.journal.status_file(key), "r+b", buffering=0))
            how = _how(command, files)
            words = SHELL, "-c", *how.pop("words")
            return await asyncio.create_subprocess_exec(*words, stdin=status, start_new_session=True, **how)

    async def _await(self, process: Process, command: Command, launch: Launch) -> None:
        """Wait for a child of ours, for as long as it may take, and say that it lives; then, how it ended."""
        ending = asyncio.ensure_future(process.wait())
        beat = launch.job.schedule.policy.run_lease / SECOND / 3
        left = inf if command.timeout is None else command.timeout / SECOND
        while not (await asyncio.wait({ending}, timeout=min(beat, left)))[0]:
            left -= min(beat, left)
            if not left:
                _signal(process.pid, signal.SIGKILL)
                break
            await self.tell(launch.run.key, Report.STARTED)
        await self._end(launch.run.key, await ending)

    async def _follow(self, key: str, known: Entry) -> None:
        """Follow a process that is no child of ours, until it is gone. If it has left no status, nobody knows it."""
        if known.alive and known.pid:
            self.running[key] = known.pid
        while known.alive:
            await self.tell(key, Report.STARTED)
            await asyncio.sleep(self.beat)
        status = await asyncio.to_thread(self.journal.status, key)
        if status is None:
            await asyncio.to_thread(self.journal.begin_again, key, known.at, known)  # it may have run: nobody knows
        else:
            await self._end(key, status)

    async def _end(self, key: str, status: int) -> None:
        """Say how it ended, and only then forget that it has to be said."""
        await self.tell(key, Report.FAILED if status else Report.SUCCESS)
        await asyncio.to_thread(self.journal.ended, key, status)

    def _keep(self, key: str, work: Coroutine[Any, Any, None]) -> None:
        """Go on with it beside everything else; what is done for a key already is not done twice."""
        if key in self.tasks:
            work.close()
            return
        task = self.tasks[key] = asyncio.create_task(work)

        def done(ended: asyncio.Task[None]) -> None:
            if self.tasks.get(key) is ended:
                del self.tasks[key]
                self.running.pop(key, None)

        task.add_done_callback(done)


def _how(command: Command, files: ExitStack) -> dict[str, Any]:
    """As whom, where and with what a command runs. What it does not say is as in the worker."""
    seen = {name: os.environ[name] for name in SEEN if name in os.environ}
    how: dict[str, Any] = {} if command.umask is None else {"umask": command.umask}
    rights = rights_of(command.user, command.group)
    if rights:
        how |= {"user": rights.uid, "group": rights.gid, "extra_groups": rights.groups}
        seen |= {"HOME": rights.home, "LOGNAME": rights.name, "USER": rights.name}
    how["env"] = seen | dict(command.env)
    if rights and rights.foreign:
        outputs = command.stdout or os.devnull, command.stderr or os.devnull
        where = command.cwd or "/"
        return how | {"words": (_KEEPER_AS, *_line(command), where, *outputs), "stdout": DEVNULL, "stderr": DEVNULL}
    outputs_as_us = {"stdout": _opened(command.stdout, files), "stderr": _opened(command.stderr, files)}
    return how | outputs_as_us | {"words": (_KEEPER, *_line(command)), "cwd": command.cwd}


def _line(command: Command) -> tuple[str, str]:
    return command.shell or SHELL, command.line


def _opened(path: str | None, files: ExitStack) -> Any:
    """A file that is written on at its end; without one, what a command prints is dropped."""
    return files.enter_context(os.fdopen(open_output(path), "ab")) if path else DEVNULL


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)
