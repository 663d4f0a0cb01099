"""Rows of an import: what became of each line of a crontab."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kron.errors import LanguageError
from kron.timing.job import Command
from kron.timing.schedule import Schedule


class Status(StrEnum):
    """What became of a line of a crontab."""

    COMMENT = "comment"
    VARIABLE = "variable"  # it is part of the jobs of the lines below
    IMPORTED = "imported"  # it is a job
    REBOOT = "reboot"  # it is a job that runs once per boot
    NOTED = "noted"  # it is a comment, because cron ignores it
    FAILED = "failed"  # it cannot be imported


@dataclass(frozen=True, slots=True)
class CronJob:
    """Job of a crontab line.

    Attributes:
        name: Name of the job.
        schedule: When cron runs it.
        command: What cron runs.
        written: Command as written in the crontab.
    """

    name: str
    schedule: Schedule
    command: Command
    written: str


@dataclass(frozen=True, slots=True)
class Row:
    """Line of a crontab: its place, its text, what became of it, its job, its notes and its error."""

    path: str
    number: int
    text: str
    status: Status
    job: CronJob | None = None
    notes: tuple[str, ...] = ()
    error: LanguageError | None = None
