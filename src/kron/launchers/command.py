"""Host command launcher. A journal holds every key that was begun, so that no command runs twice after any crash."""

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

from kron.engine.clock import Clock, SystemClock
from kron.engine.launcher import Launch, Tell
from kron.launchers.journal import Entry, Journal
from kron.launchers.rights import open_output, rights_of
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.timing.job import Command
from kron.timing.schedule.policy import SECOND, WorkerLossPolicy

SHELL = "/bin/sh"
SEEN = ("HOME", "LANG", "LOGNAME", "PATH", "TZ", "USER")  # variables that a command inherits from the worker
BEAT = 2.0  # seconds between two checks of a process that is not a child of this worker
STARTS = 8  # commands begun at once: each waits for the journal's disk
PATIENCE = 5.0  # seconds that a command waits for a free slot; less than the time limit of a launch
UNBEGUN = LaunchResponse(LaunchResult.UNSENT, 1_000)

# The shell gets the whole line as it was written. The exit status goes to a file, which is the standard input of this
# script: a later worker reads it there if this worker is gone.
_KEEPER = '"$0" -c "$1" </dev/null; said=$?; echo "$said" >&0; exit "$said"'

# The same for another user. The script has that user's rights from the start: it enters the folder and opens the
# output files as that user.
_KEEPER_AS = 'cd -- "$2" && "$0" -c "$1" </dev/null >>"$3" 2>>"$4"; said=$?; echo "$said" >&0; exit "$said"'


class CommandLauncher:
    """Launcher of host commands. Each command has its own session, so that it outlives this worker."""

    def __init__(self, journal: Journal, tell: Tell, clock: Clock | None = None, *, beat: float = BEAT) -> None:
        self.journal, self.tell, self.clock, self.beat = journal, tell, clock or SystemClock(), beat
        self.gate, self.patience = asyncio.Semaphore(STARTS), PATIENCE
        self.beginning: set[asyncio.Task[LaunchResult]] = set()
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.running: dict[str, int] = {}

    def adopt(self) -> None:
        """Follow the commands that earlier workers started and whose end the journal does not have."""
        for key in self.journal.unended():
            self._keep(key, self._follow(key, self.journal.look(key) or Entry()))

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        """Start the command, unless its key was begun before: then the result says what is known of that attempt.

        If no slot is free in time, the command was not begun (UNSENT). Once begun, the launcher follows the command to
        its end, even if the caller is canceled.
        """
        command = launch.job.command
        if command is None:
            return LaunchResult.REJECTED
        try:
            async with asyncio.timeout(self.patience):
                await self.gate.acquire()
        except TimeoutError:
            return UNBEGUN
        task = asyncio.ensure_future(self._begin(command, launch))
        self.beginning.add(task)
        task.add_done_callback(self._begun)
        return await asyncio.shield(task)

    def _begun(self, task: asyncio.Task[LaunchResult]) -> None:
        self.beginning.discard(task)
        self.gate.release()

    async def _begin(self, command: Command, launch: Launch) -> LaunchResult:
        key, now = launch.run.key, int(self.clock.now())
        if await asyncio.to_thread(self.journal.begin, key, now):
            return await self._spawn(command, launch)
        known = await asyncio.to_thread(self.journal.look, key) or Entry()
        if known.alive or await asyncio.to_thread(self.journal.status, key) is not None:
            self._keep(key, self._follow(key, known))
            return LaunchResult.OK
        again = launch.job.schedule.policy.on_worker_loss is WorkerLossPolicy.RESTART
        if again and await asyncio.to_thread(self.journal.begin_again, key, now, known):
            return await self._spawn(command, launch)
        return LaunchResult.UNKNOWN

    async def cancel(self, run: Run) -> None:
        """Send SIGTERM to the command and all its children."""
        if run.key in self.running:
            _signal(self.running[run.key], signal.SIGTERM)

    async def _spawn(self, command: Command, launch: Launch) -> LaunchResult:
        key = launch.run.key
        try:
            process = await self._process(command, key)
        except (OSError, LookupError, ValueError, SubprocessError):  # unknown folder, user or file, or no permission
            await asyncio.to_thread(self.journal.ended, key, -1)
            return LaunchResult.REJECTED
        await asyncio.to_thread(self.journal.started, key, process.pid)
        self.tasks.pop(key, None)  # the task that follows an earlier attempt
        self._keep(key, self._await(process, command, launch))
        self.running[key] = process.pid
        return LaunchResult.OK

    async def _process(self, command: Command, key: str) -> Process:
        with ExitStack() as files:
            status = files.enter_context(os.fdopen(self.journal.status_file(key), "r+b", buffering=0))
            how = _how(command, files)
            words = SHELL, "-c", *how.pop("words")
            return await asyncio.create_subprocess_exec(*words, stdin=status, start_new_session=True, **how)

    async def _await(self, process: Process, command: Command, launch: Launch) -> None:
        """Wait for a child process up to the command's timeout, renew the run lease meanwhile, then report its end."""
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
        """Follow a process that is not a child until it is gone. Without a status file its end stays unknown."""
        if known.alive and known.pid:
            self.running[key] = known.pid
        while known.alive:
            await self.tell(key, Report.STARTED)
            await asyncio.sleep(self.beat)
        status = await asyncio.to_thread(self.journal.status, key)
        if status is None:
            await asyncio.to_thread(self.journal.begin_again, key, known.at, known)  # unknown whether it ran
        else:
            await self._end(key, status)

    async def _end(self, key: str, status: int) -> None:
        """Report the end of a command, and only then record it: after a crash in between, it is reported again."""
        await self.tell(key, Report.FAILED if status else Report.SUCCESS)
        await asyncio.to_thread(self.journal.ended, key, status)

    def _keep(self, key: str, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task; if the key has a task already, drop `work`."""
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
    """Return user, folder, environment and outputs of a command. What the command leaves open is as in the worker."""
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
    """Return a file opened for appending; without a path, the command's output is discarded."""
    return files.enter_context(os.fdopen(open_output(path), "ab")) if path else DEVNULL


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)
