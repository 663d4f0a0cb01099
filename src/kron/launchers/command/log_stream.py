"""Log streams of host commands: the systemd journal, and syslog by a process of logger.

journald reads a socket that the command writes to by itself. syslog needs a process that makes a message of each line.
Both go on when the worker is gone.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from kron.launchers.command.output_file import RefusedOutput
from kron.launchers.command.process import Process, ticks
from kron.launchers.command.rights import Rights
from kron.launchers.command.setpriv import with_rights
from kron.timing.job import Job

JOURNAL_SOCKET = "/run/systemd/journal/stdout"
SYSLOG_SOCKET = "/dev/log"
CONNECT_SECONDS = 2.0
MAX_TAG_LENGTH = 48  # characters
PRIORITIES = {"stdout": ("info", 6), "stderr": ("warning", 4)}  # of syslog, by name and by number
_LOGGER_PATHS = ("/usr/bin/logger", "/bin/logger")
_UNSAFE = re.compile(r"[^A-Za-z0-9._/-]+")


def tag_of(job: Job) -> str:
    """Return the name under which a job is logged."""
    return _UNSAFE.sub("_", job.name or job.identity)[-MAX_TAG_LENGTH:] or "kron"


def open_journal(tag: str, stream: str) -> int:
    """Return a socket of which journald logs each line. The caller closes it.

    Args:
        tag: Identifier of the messages.
        stream: `stdout` or `stderr`.

    Raises:
        RefusedOutput: journald does not run on this host.
    """
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect(JOURNAL_SOCKET)
            # identifier, unit, priority, whether lines have a priority, and three outputs to which they are forwarded
            connection.sendall(f"{tag}\n\n{PRIORITIES[stream][1]}\n0\n0\n0\n0\n".encode())
        except OSError as error:
            reason = f"{stream}=journal: {JOURNAL_SOCKET}: {error.strerror or error}"
            raise RefusedOutput(f"{reason}: write capture, syslog or file:/path") from None
        connection.settimeout(None)
        return connection.detach()


class Loggers:
    """Processes of logger that this worker has started. They end when the last process closes its output."""

    def __init__(self) -> None:
        self.started: list[int] = []  # process ids that are not followed yet
        self.children = set[int]()  # process ids that are not reaped
        self.tasks = set[asyncio.Task[None]]()

    def start(self, tag: str, stream: str, rights: Rights | None) -> int:
        """Start a logger in its own session. Returns the file that it reads lines from; the caller closes it.

        Raises:
            RefusedOutput: This host has no syslog, or no logger of util-linux.
        """
        path = find_logger(SYSLOG_SOCKET) if Path(SYSLOG_SOCKET).exists() else None
        if path is None:
            reason = "it needs logger of util-linux" if Path(SYSLOG_SOCKET).exists() else f"{SYSLOG_SOCKET} is missing"
            raise RefusedOutput(f"{stream}=syslog: {reason}: write capture, journal or file:/path")
        arguments = [path, "-u", SYSLOG_SOCKET, "-p", f"cron.{PRIORITIES[stream][0]}", "-t", tag]
        options: dict[str, Any] = {}
        reader, writer = os.pipe()
        try:
            process = subprocess.Popen(  # noqa: S603  # of the schedule, the arguments have only the name
                with_rights(arguments, rights, options),
                env={},
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                **options,
            )
        except BaseException:
            os.close(writer)
            raise
        finally:
            os.close(reader)
        process.returncode = 0  # it is followed by its pidfd
        self.started.append(process.pid)
        self.children.add(process.pid)
        return writer

    def follow(self) -> None:
        """Reap the started processes when they have ended. This runs in the event loop."""
        pids, self.started = self.started, []
        for pid in pids:
            task = asyncio.create_task(self._reap(Process(pid, ticks(pid), is_child=True)))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _reap(self, process: Process) -> None:
        try:
            await process.ended.wait()
            process.reap()
        finally:
            process.close()
            self.children.discard(process.pid)


@lru_cache(1)
def find_logger(log_socket: str) -> str | None:
    """Return the path of logger; None if it does not exist, or cannot write to a socket of its caller's choice."""
    path = next((path for path in _LOGGER_PATHS if Path(path).exists()), None)
    if path is None:
        return None
    try:
        probe = subprocess.run(  # noqa: S603  # constant arguments
            [path, "--no-act", "-u", log_socket, "-p", "cron.info", "-t", "kron", "probe"],
            check=False,
            capture_output=True,
            timeout=10.0,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return path if probe.returncode == 0 else None
