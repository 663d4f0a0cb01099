"""Host command launcher. A journal holds every key that was begun, so that no command runs twice after any crash."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sqlite3
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count
from math import inf
from subprocess import SubprocessError
from typing import Any

from kron.engine.clock import Clock, SystemClock
from kron.engine.launcher import Launch, Tell
from kron.launchers.journal import Entry, Journal
from kron.launchers.rights import open_output, rights_of
from kron.rules.excerpt import excerpt_of_error
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.timing.job import Command
from kron.timing.schedule.policy import SECOND, WorkerLossPolicy

log = logging.getLogger("kron.launchers.command")

SHELL = "/bin/sh"
# Variables that a command inherits from the worker.
INHERITED_VARIABLES = ("HOME", "LANG", "LOGNAME", "PATH", "TZ", "USER")
POLL_SECONDS = 2.0  # seconds between two checks of a process that is not a child of this worker, or of the journal
CHECKS_PER_RENEWAL = 30  # checks of the journal after which the leases of commands of other workers are renewed
MAX_STARTS = 8  # commands begun at once: each waits for the journal's disk
SLOT_SECONDS = 5.0  # seconds that a command waits for a free slot; less than the time limit of a launch
NOT_BEGUN = LaunchResponse(LaunchResult.UNSENT, 1_000, excerpt="too many commands were starting on this host")
NO_COMMAND = LaunchResponse(LaunchResult.REJECTED, excerpt="the job has no command")
BEGUN_BEFORE = LaunchResponse(LaunchResult.UNKNOWN, excerpt="an earlier attempt began, and how it ended is unknown")
Started = LaunchResult | LaunchResponse

# The shell gets the whole line as it was written. The exit status goes to a file, which is the standard input of this
# script: a later worker reads it there if this worker is gone.
_WRAPPER = '%s "$0" -c "$1"; code=$?; echo "$code" >&0; exit "$code"'

# The same for another user. The script has that user's rights from the start: it enters the folder and opens the
# output files as that user.
_WRAPPER_AS_USER = 'cd -- "$2" && %s "$0" -c "$1" >>"$3" 2>>"$4"; code=$?; echo "$code" >&0; exit "$code"'

# What the command can read: nothing, or its payload. The status of a pipeline is that of its last command.
_NO_INPUT, _PAYLOAD_INPUT = "</dev/null", """printf %s "$KRON_PAYLOAD" |"""


class CommandLauncher:
    """Launcher of host commands. Each command has its own session, so that it outlives this worker."""

    is_local = True

    def __init__(self, journal: Journal, tell: Tell, clock: Clock | None = None, *, beat: float = POLL_SECONDS) -> None:
        self.journal, self.tell, self.clock, self.beat = journal, tell, clock or SystemClock(), beat
        self.gate, self.patience = asyncio.Semaphore(MAX_STARTS), SLOT_SECONDS
        self.starting: set[asyncio.Task[Started]] = set()
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.running: dict[str, int] = {}
        self.adopting: asyncio.Task[None] | None = None

    def adopt(self) -> None:
        """Follow the commands that other workers of this host started and whose end the journal does not have.

        First those of earlier workers, then without end those of workers that are killed while this one runs.
        """
        for key in self.journal.unended():
            self._start_task(key, self._follow(key, self.journal.look(key) or Entry()))
        self.adopting = asyncio.create_task(self._adopt_orphans())

    async def _adopt_orphans(self) -> None:
        """Follow each command whose process is gone and whose worker did not record the end by the next check.

        Whether the worker of a running command lives is unknown, so that the run lease is renewed now and then.
        """
        gone = set[str]()
        for check in count(1):
            await asyncio.sleep(self.beat)
            try:
                unended = await asyncio.to_thread(self._unended_without, frozenset(self.tasks))
            except (OSError, sqlite3.Error) as error:  # a full disk, for example: the next check finds them
                log.warning("the command journal cannot be read; this is tried again: %s", error)
                continue
            for key in gone & unended.keys():
                self._start_task(key, self._follow(key, unended[key]))
            gone = {key for key, entry in unended.items() if not entry.alive}
            if check % CHECKS_PER_RENEWAL == 0:
                for key in unended.keys() - gone:
                    await self.tell(key, Report.STARTED)

    def _unended_without(self, followed: frozenset[str]) -> dict[str, Entry]:
        return {key: self.journal.look(key) or Entry() for key in self.journal.unended() if key not in followed}

    async def start(self, launch: Launch) -> Started:
        """Start the command, unless its key was begun before: then the result says what is known of that attempt.

        If no slot is free in time, the command was not begun (UNSENT). Once begun, the launcher follows the command to
        its end, even if the caller is canceled.
        """
        command = launch.job.command
        if command is None:
            return NO_COMMAND
        try:
            async with asyncio.timeout(self.patience):
                await self.gate.acquire()
        except TimeoutError:
            return NOT_BEGUN
        task = asyncio.ensure_future(self._begin(command, launch))
        self.starting.add(task)
        task.add_done_callback(self._release_slot)
        return await asyncio.shield(task)

    def _release_slot(self, task: asyncio.Task[Started]) -> None:
        self.starting.discard(task)
        self.gate.release()

    async def _begin(self, command: Command, launch: Launch) -> Started:
        key, now = launch.run.key, int(self.clock.now())
        if await asyncio.to_thread(self.journal.begin, key, now):
            return await self._spawn(command, launch)
        entry = await asyncio.to_thread(self.journal.look, key) or Entry()
        if entry.alive or await asyncio.to_thread(self.journal.status, key) is not None:
            self._start_task(key, self._follow(key, entry))
            return LaunchResult.OK
        restarts = launch.job.schedule.policy.on_worker_loss is WorkerLossPolicy.RESTART
        if restarts and await asyncio.to_thread(self.journal.begin_again, key, now, entry):
            return await self._spawn(command, launch)
        return BEGUN_BEFORE

    async def cancel(self, run: Run) -> None:
        """Send SIGTERM to the command and all its children."""
        if run.key in self.running:
            _signal_group(self.running[run.key], signal.SIGTERM)

    async def _spawn(self, command: Command, launch: Launch) -> Started:
        key = launch.run.key
        try:
            process = await self._create_process(_with_payload(command, launch.job.payload), key)
        except (
            OSError,
            LookupError,
            ValueError,
            SubprocessError,
        ) as error:  # unknown folder, user or file; no permission
            await asyncio.to_thread(self.journal.ended, key, -1)
            return LaunchResponse(LaunchResult.REJECTED, excerpt=excerpt_of_error(error))
        await asyncio.to_thread(self.journal.started, key, process.pid)
        self.tasks.pop(key, None)  # the task that follows an earlier attempt
        self._start_task(key, self._await_child(process, command, launch))
        self.running[key] = process.pid
        return LaunchResult.OK

    async def _create_process(self, command: Command, key: str) -> Process:
        with ExitStack() as files:
            status = files.enter_context(os.fdopen(self.journal.status_file(key), "r+b", buffering=0))
            options = _process_options(command, files)
            arguments = SHELL, "-c", *options.pop("arguments")
            return await asyncio.create_subprocess_exec(*arguments, stdin=status, start_new_session=True, **options)

    async def _await_child(self, process: Process, command: Command, launch: Launch) -> None:
        """Wait for a child process up to the command's timeout, renew the run lease meanwhile, then report its end."""
        exit_task, cause = asyncio.ensure_future(process.wait()), ""
        renewal_seconds = launch.job.schedule.policy.run_lease / SECOND / 3
        seconds_left = inf if command.timeout is None else command.timeout / SECOND
        while not (await asyncio.wait({exit_task}, timeout=min(renewal_seconds, seconds_left)))[0]:
            seconds_left -= min(renewal_seconds, seconds_left)
            if not seconds_left:
                _signal_group(process.pid, signal.SIGKILL)
                cause = "the command exceeded its timeout and was killed"
                break
            await self.tell(launch.run.key, Report.STARTED)
        await self._report_end(launch.run.key, await exit_task, cause)

    async def _follow(self, key: str, entry: Entry) -> None:
        """Follow a process that is not a child until it is gone. Without a status file its end stays unknown."""
        if entry.alive and entry.pid:
            self.running[key] = entry.pid
        while entry.alive:
            await self.tell(key, Report.STARTED)
            await asyncio.sleep(self.beat)
        status = await asyncio.to_thread(self.journal.status, key)
        if status is None:
            await asyncio.to_thread(self.journal.begin_again, key, entry.at, entry)  # unknown whether it ran
        else:
            await self._report_end(key, status)

    async def _report_end(self, key: str, status: int, cause: str = "") -> None:
        """Report the end of a command, and only then record it: after a crash in between, it is reported again."""
        await self.tell(key, Report.FAILED if status else Report.SUCCESS, status, cause)
        await asyncio.to_thread(self.journal.ended, key, status)

    def _start_task(self, key: str, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run `coroutine` as a task; if the key has a task already, drop `coroutine`."""
        if key in self.tasks:
            coroutine.close()
            return
        task = self.tasks[key] = asyncio.create_task(coroutine)

        def forget(ended: asyncio.Task[None]) -> None:
            if self.tasks.get(key) is ended:
                del self.tasks[key]
                self.running.pop(key, None)

        task.add_done_callback(forget)


def _with_payload(command: Command, payload: str | None) -> Command:
    """Return the command with its payload as `KRON_PAYLOAD`."""
    return command if payload is None else replace(command, env=(*command.env, ("KRON_PAYLOAD", payload)))


def _process_options(command: Command, files: ExitStack) -> dict[str, Any]:
    """Return user, folder, environment and outputs of a command. What the command leaves open is as in the worker."""
    environment = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    options: dict[str, Any] = {} if command.umask is None else {"umask": command.umask}
    rights = rights_of(command.user, command.group)
    if rights:
        options |= {"user": rights.uid, "group": rights.gid, "extra_groups": rights.groups}
        environment |= {"HOME": rights.home, "LOGNAME": rights.name, "USER": rights.name}
    options["env"] = environment | dict(command.env)
    if rights and rights.foreign:
        outputs = command.stdout or os.devnull, command.stderr or os.devnull
        folder = command.cwd or "/"
        return options | {
            "arguments": (_WRAPPER_AS_USER % _input(command), *_shell_and_line(command), folder, *outputs),
            "stdout": DEVNULL,
            "stderr": DEVNULL,
        }
    own_outputs = {"stdout": _open_output(command.stdout, files), "stderr": _open_output(command.stderr, files)}
    arguments = (_WRAPPER % _input(command), *_shell_and_line(command))
    return options | own_outputs | {"arguments": arguments, "cwd": command.cwd}


def _input(command: Command) -> str:
    return _PAYLOAD_INPUT if command.stdin == "payload" else _NO_INPUT


def _shell_and_line(command: Command) -> tuple[str, str]:
    return command.shell or SHELL, command.line


def _open_output(path: str | None, files: ExitStack) -> Any:
    """Return a file opened for appending; without a path, the command's output is discarded."""
    return files.enter_context(os.fdopen(open_output(path), "ab")) if path else DEVNULL


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)
