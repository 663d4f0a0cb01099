"""Environment variables of a host command."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kron.launchers.command.rights import Rights
from kron.launchers.command.session import JOURNAL_VARIABLE, KEY_VARIABLE
from kron.rules.run import Run
from kron.timing.job import Command, Job
from kron.timing.zone import rfc3339, rfc3339_ms

SHELL = "/bin/sh"
# Variables that a command inherits from the worker, unless it runs as another user.
INHERITED_VARIABLES = ("HOME", "LANG", "LOGNAME", "PATH", "TZ", "USER")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_READ_ONLY = frozenset({"BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"})  # in some shells
USER_PATH = "/usr/bin:/bin"  # of a command of another user


def environment_of(command: Command, job: Job, run: Run, rights: Rights | None, journal: str) -> dict[str, str]:
    """Return the environment that a command has from the start: of its user, and of its run.

    A command of another user gets nothing from the worker's environment. `journal` is the id of the journal.
    """
    payload = {} if job.payload is None else {"KRON_PAYLOAD": job.payload}
    return user_variables(rights, command.shell) | payload | _run_variables(run) | {JOURNAL_VARIABLE: journal}


def user_variables(rights: Rights | None, shell: str | None = None) -> dict[str, str]:
    """Return the environment of a user: the worker's own, or that of another user with nothing of the worker's."""
    variables = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    if rights and rights.foreign:
        variables = {"PATH": USER_PATH, "SHELL": shell or SHELL}
    if rights:
        variables |= {"HOME": rights.home, "LOGNAME": rights.name, "USER": rights.name}
    return variables


def late_variables(command: Command, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the schedule, each as `NAME=value` under a name that no program knows.

    The keeper sets them when it has the rights of the command. Variables of the run cannot be replaced. Names that a
    shell cannot set are left out: it would not pass them on either.
    """
    fixed = {name for name in environment if name.startswith("KRON_")}
    texts = [
        f"{name}={value}"
        for name, value in command.env
        if _NAME.fullmatch(name) and name not in fixed and name not in _READ_ONLY
    ]
    return {f"KRON_ENV_{number}": text for number, text in enumerate(texts)}


def _run_variables(run: Run) -> dict[str, str]:
    """Return the variables that tell a command which run it is."""
    return {
        KEY_VARIABLE: run.key,
        "KRON_JOB": run.identity,
        "KRON_PERIOD": rfc3339(run.nominal),
        "KRON_CHOSEN": rfc3339_ms(run.due),
        "KRON_ATTEMPT": str(run.attempt),
    }
