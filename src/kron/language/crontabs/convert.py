"""Conversion of crontabs: each line becomes a row with a job, a note or an error. No line is dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from kron.language.crontabs.clock_notes import clock_notes
from kron.language.crontabs.command_input import split_input, with_input
from kron.language.crontabs.line import Entry
from kron.language.crontabs.naming import base_name, unique_names
from kron.language.crontabs.read import CronEntry, Crontab, failed_row, read_crontab
from kron.language.crontabs.row import CronJob, Row
from kron.language.crontabs.variables import Variables
from kron.language.crontabs.write import job_line, schedule_text
from kron.language.fault import Fault
from kron.language.krontab import read_table
from kron.timing.job import Command
from kron.timing.zone import Zone

_QUIET = "cron does not log the runs of this line (-). Kron records every run."


@dataclass(frozen=True, slots=True)
class Host:
    """What the lines of a crontab depend on.

    Attributes:
        zone: Time zone of the host, which cron uses.
        after: Instant from which clock changes are searched, in seconds since the epoch.
        home: Function that returns the home directory of a user; empty if the directory does not exist, None if the
            user does not exist.
    """

    zone: Zone
    after: int
    home: Callable[[str], str | None] = field(default=lambda user: "")


def convert(crontabs: Iterable[Crontab], host: Host) -> list[Row]:
    """Return the rows of crontab files, with names that are unique in all of them.

    Raises:
        LanguageError: A file has too many lines or too many errors, so it is probably not a crontab.
    """
    lines = (line for crontab in crontabs for line in read_crontab(crontab, host.zone))
    rows = [_with_job(line.row, line.entry, host) if line.entry else line.row for line in lines]
    jobs = [row.job for row in rows if row.job]
    names = iter(unique_names([(job.name, schedule_text(job.schedule)) for job in jobs]))
    return [replace(row, job=replace(row.job, name=next(names))) if row.job else row for row in rows]


def _with_job(row: Row, cron_entry: CronEntry, host: Host) -> Row:
    """Return the row of a line that runs a command, with its job and all notes."""
    entry, timing, variables = cron_entry
    home = host.home(entry.user)
    notes = [*timing.notes, *clock_notes(timing.schedule, host.after)]
    notes += [_QUIET] if entry.is_quiet else []
    notes += [f"User {entry.user} does not exist on this host."] if home is None else []
    job = CronJob(
        base_name(entry.user, entry.command), timing.schedule, _command(entry, variables, home or None), entry.command
    )
    try:
        _check_readable(job, row)
    except Fault as fault:
        return failed_row(replace(row, notes=()), fault)
    return replace(row, job=job, notes=(*notes, *row.notes))


def _command(entry: Entry, variables: Variables, home: str | None) -> Command:
    line, text = split_input(entry.command)
    shell, cwd = variables.shell, variables.cwd or home
    if text:
        line, shell = with_input(line, text, shell), None
    return Command(line, user=entry.user, cwd=cwd, env=variables.env, shell=shell, notify=variables.notify)


def _check_readable(job: CronJob, row: Row) -> None:
    """Reject a job whose krontab line cannot be read, for example because the line is too long."""
    table = read_table(job_line(job), "/krontab")
    if table.errors:
        error = table.errors[0]
        raise Fault(error.code, f"the krontab line would be invalid: {error.message}", 0, len(row.text), error.hint)
