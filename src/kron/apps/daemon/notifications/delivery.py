"""Delivery: a program gets a message on its standard input, with the rights of the job's user, for a limited time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from kron.launchers.command.environment import user_variables
from kron.launchers.command.launcher import START_ERRORS
from kron.launchers.command.process import Process, ticks
from kron.launchers.command.rights import rights_of
from kron.launchers.command.setpriv import with_rights
from kron.timing.job import Command

POST = "kron.apps.daemon.notifications.post"
MAX_DELIVERIES = 4  # at once
LIMIT_SECONDS = 30.0  # for one delivery
MAX_ERROR = 200  # characters of what a program says about a failure
KILL_SECONDS = 2.0  # between SIGTERM and SIGKILL, and after it


class Deliveries:
    """Programs that deliver messages. They have threads of their own, so that no command waits for them.

    Attributes:
        children: Process ids of the programs that were started and not reaped.
    """

    def __init__(self, folder: Path, *, seconds: float = LIMIT_SECONDS) -> None:
        self.folder, self.seconds, self.children = folder, seconds, set[int]()
        self.threads = ThreadPoolExecutor(MAX_DELIVERIES, "kron-notify")
        self.gate = asyncio.Semaphore(MAX_DELIVERIES)

    async def deliver(
        self, arguments: Sequence[str], content: bytes, command: Command, errors: IO[bytes] | None = None
    ) -> str:
        """Start a program and wait for its end, at most for the time limit.

        Args:
            arguments: The program and its arguments. No shell reads them.
            content: Its standard input.
            command: Command of the job: the program has the same user and group.
            errors: File for the program's standard error; None: it is discarded.

        Returns:
            Why the message was not delivered; empty if it was.
        """
        async with self.gate:
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout(self.seconds):  # a program on a file system that hangs does not start
                    pid = await loop.run_in_executor(self.threads, self._start, arguments, content, command, errors)
            except TimeoutError:
                return f"{arguments[0]} did not start within {self.seconds:g} s"
            except START_ERRORS as error:
                return f"{arguments[0]} cannot be started: {error}"
            return await self._wait(arguments[0], pid)

    async def post(self, url: str, content: bytes, command: Command) -> str:
        """Post a message to a URL with the rights of the job's user. Returns why it was not accepted, if it was not."""
        with tempfile.TemporaryFile(dir=self.folder) as errors:
            failure = await self.deliver([sys.executable, "-I", "-m", POST, url], content, command, errors)
            errors.seek(0)
            reason = errors.read(MAX_ERROR).decode(errors="replace").strip()
        return failure and (reason or failure)

    def _start(self, arguments: Sequence[str], content: bytes, command: Command, errors: IO[bytes] | None) -> int:
        """Start a program. Its input is a file, so that it can read it also if the daemon ends."""
        rights, options = rights_of(command.user, command.group), dict[str, Any]()
        with tempfile.TemporaryFile(dir=self.folder) as stdin:
            stdin.write(content)
            stdin.seek(0)
            process = subprocess.Popen(  # noqa: S603  # a program that the table names, with the rights of its user
                with_rights(list(arguments), rights, options),
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=errors or subprocess.DEVNULL,
                env=user_variables(rights),
                cwd="/",
                start_new_session=True,
                **options,
            )
        process.returncode = 0  # the process is followed by its pidfd: Popen must not wait for it
        self.children.add(process.pid)
        return process.pid

    async def _wait(self, name: str, pid: int) -> str:
        process = Process(pid, ticks(pid), is_child=True)
        try:
            if not await process.ends_within(self.seconds):
                await self._end(process)
                return f"{name} was ended after {self.seconds:g} s"
            status = process.reap()
        finally:
            process.reap()
            process.close()
            self.children.discard(pid)
        return f"{name} ended with status {status}" if status else ""

    async def _end(self, process: Process) -> None:
        """End a program and its process group. It is not reaped yet, so that its id is still its own."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(OSError):
                os.killpg(process.pid, number)
            await process.ends_within(KILL_SECONDS)
