"""Streams of a host command: what its standard output and its standard error are connected to."""

from __future__ import annotations

import os
from contextlib import ExitStack
from subprocess import DEVNULL
from typing import NamedTuple

from kron.language.output_form import Form, OutputForm, output_form
from kron.launchers.command.file_rights import with_file_rights
from kron.launchers.command.log_stream import Loggers, open_journal, tag_of
from kron.launchers.command.output_file import open_output
from kron.launchers.command.rights import Rights
from kron.rules.run import Run
from kron.timing.job import Command, Job


class Plan(NamedTuple):
    """Forms of the two outputs of a command, and the run that they are for."""

    stdout: OutputForm
    stderr: OutputForm
    umask: int | None
    job: Job
    run: Run
    rights: Rights | None  # of another user; None for the worker's own

    @property
    def captures(self) -> bool:
        """Whether an output is captured. Reasons why a command of another user cannot start are captured, too."""
        return self.rights is not None or Form.CAPTURE in (self.stdout.form, self.stderr.form)


def plan_streams(command: Command, job: Job, run: Run, rights: Rights | None) -> Plan:
    """Return the plan of a command's outputs.

    Raises:
        ValueError: A stored text is not the form of an output.
    """
    foreign = rights if rights is not None and rights.foreign else None
    return Plan(output_form(command.stdout), output_form(command.stderr), command.umask, job, run, foreign)


def open_streams(plan: Plan, captured: int, loggers: Loggers, stack: ExitStack) -> dict[str, int | None]:
    """Return the files of both outputs, as options of a process; None is the output of the worker.

    Args:
        plan: What to open.
        captured: Open file of captured output.
        loggers: Where processes for syslog are started.
        stack: Closes the files.

    Raises:
        OSError: A file cannot be opened with the rights of the user, or a log does not exist.
    """
    files: dict[str, int | None] = {}
    for name, form in (("stdout", plan.stdout), ("stderr", plan.stderr)):
        if form.form in _CONSTANTS:
            files[name] = _CONSTANTS[form.form]
        elif form.form is Form.CAPTURE:
            files[name] = captured
        else:
            files[name] = file = _open(name, form, plan, loggers)
            stack.callback(os.close, file)
    return files


_CONSTANTS = {Form.INHERIT: None, Form.DISCARD: DEVNULL}


def check_folder(path: str, rights: Rights) -> None:
    """Check that a user can enter a directory.

    Raises:
        OSError: The directory does not exist, or the user has no permission.
    """
    with_file_rights(rights, lambda: os.stat(f"{path}/."))  # noqa: PTH116  # a Path would drop the dot


def _open(name: str, form: OutputForm, plan: Plan, loggers: Loggers) -> int:
    if form.form is Form.SYSLOG:
        return loggers.start(tag_of(plan.job), name, plan.rights)
    if form.form is Form.JOURNAL:
        return open_journal(tag_of(plan.job), name)
    path, rights = form.path_at(plan.run.nominal, plan.job.schedule.zone), plan.rights

    def open_file() -> int:
        uid = os.geteuid() if rights is None else rights.uid
        return open_output(path, uid, plan.umask, follows_own_links=not form.has_date)

    return open_file() if rights is None else with_file_rights(rights, open_file)
