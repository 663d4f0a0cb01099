"""Keeper of a host command: a shell that starts the command, outlives the worker and leaves the command's status.

The text of the script is constant: the shell and the command line are its arguments, never part of it. The status goes
to a file, which is the standard input of the script: a later worker reads it there.

The script survives the signals that end a command, so that it is there when the command has ended. Its signal traps are
the default again in the command.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from kron.launchers.command.environment import SHELL, environment_of, late_variables
from kron.launchers.command.log_stream import Loggers
from kron.launchers.command.rights import Rights
from kron.launchers.command.setpriv import with_rights
from kron.launchers.command.streams import Plan, check_folder, open_streams
from kron.timing.job import Command

_TRAP, _LEAVE_STATUS = "trap : HUP INT QUIT TERM; ", '; echo "${kron_status:=126}" >&0; exit "$kron_status"'
# The command of a worker that the kernel spares is not spared itself.
_ALLOW_OOM_KILL = "{ echo 0 >/proc/self/oom_score_adj; } 2>/dev/null; "
# What the command can read: nothing, or its payload. The status of a pipeline is that of its last command.
_NO_INPUT, _PAYLOAD_INPUT = "</dev/null", """printf %s "$KRON_PAYLOAD" |"""
# A shell says on its standard error that its command was terminated. The keeper's own is discarded meanwhile, and the
# command gets the original one in a subshell.
_RUN = '{ %s (exec "$0" -c "$1" %s 2>&3 3>&-); kron_status=$?; true; } 3>&2 2>/dev/null'
_ENTER = '{ echo 0 >"$0"; } 2>/dev/null; exec "$@"'  # 0 stands for the process that writes it
_REFUSE = """printf '%s\n' "$1" >&2"""  # the reason why a command of another user cannot start


class Files(NamedTuple):
    """Open files of a keeper: the status file, and the file of captured output."""

    status: int
    output: int
    journal: str  # id of the journal that the status file belongs to
    cgroup: Path | None = None  # file by which the keeper enters the cgroup of the run


def spawn_keeper(command: Command, plan: Plan, rights: Rights | None, files: Files, loggers: Loggers) -> int:
    """Start the keeper of a command in its own session. Returns its process id.

    If a command of another user cannot be started with that user's rights, the keeper says why and leaves status 126.

    Args:
        command: The command.
        plan: Outputs of the command, and its run.
        rights: Rights of the command; None for the worker's own.
        files: Files that the worker has opened.
        loggers: Where processes for syslog are started.

    Raises:
        OSError: A folder or an output file does not exist, or this worker has no permission.
        ValueError: A text has a NUL character.
        SubprocessError: The operating system refused to start the process.
    """
    with ExitStack() as stack:
        if plan.rights is not None:
            with suppress(PermissionError):
                os.fchown(files.output, plan.rights.uid, plan.rights.gid)  # so that the command can open /dev/stdout
        script, line, options = _prepare(command, plan, files, loggers, stack)
        environment = environment_of(command, plan.job, plan.run, rights, files.journal)
        late = late_variables(command, environment)
        text = _TRAP + _ALLOW_OOM_KILL + _export(late) + script + _LEAVE_STATUS
        arguments = [SHELL, "-c", text, command.shell or SHELL, line, command.cwd or "/"]
        process = subprocess.Popen(  # noqa: S603  # the command of a schedule, with the rights of its user
            _in_cgroup(with_rights(arguments, rights, options), files.cgroup),
            env=environment | late,
            stdin=files.status,
            start_new_session=True,
            **options,
        )
    process.returncode = 0  # the process is followed by its pidfd: Popen must not wait for it
    return process.pid


def _prepare(
    command: Command, plan: Plan, files: Files, loggers: Loggers, stack: ExitStack
) -> tuple[str, str, dict[str, Any]]:
    """Return the script of the keeper, its first argument, and the options of its process.

    A command of another user has that user's rights from the start, so that its script enters the folder.
    """
    mask: dict[str, Any] = {} if command.umask is None else {"umask": command.umask}
    if plan.rights is None:
        outputs = open_streams(plan, files.output, loggers, stack)
        return _run(command), command.line, mask | outputs | {"cwd": command.cwd}
    try:
        check_folder(command.cwd or "/", plan.rights)
        outputs = open_streams(plan, files.output, loggers, stack)
    except OSError as error:
        return _REFUSE, str(error), {"stdout": files.output, "stderr": files.output}
    return 'cd -- "$2" && { ' + _run(command) + "; }", command.line, mask | outputs


def _export(late: Iterable[str]) -> str:
    """Return the part of a script that sets the variables of the command, after the privileges are dropped.

    Before that, setpriv would load the libraries that variables such as LD_PRELOAD name, with the rights of the worker.
    """
    return "".join(f'export "${name}"; unset {name}; ' for name in late)


def _in_cgroup(arguments: list[str], cgroup: Path | None) -> list[str]:
    """Return the arguments of a process that enters a cgroup first, with the rights of the worker."""
    return arguments if cgroup is None else [SHELL, "-c", _ENTER, str(cgroup), *arguments]


def _run(command: Command) -> str:
    return _RUN % ((_PAYLOAD_INPUT, "") if command.stdin == "payload" else ("", _NO_INPUT))
