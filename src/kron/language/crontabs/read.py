"""Reader of crontabs: the one place that reads their lines, for every command. No line is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from kron.errors import LanguageError, Place
from kron.language.boot_form import BOOT, WORD
from kron.language.crontabs.line import Entry, Variable, read_entry, read_variable
from kron.language.crontabs.row import Row, Status
from kron.language.crontabs.timing_fields import Timing, never_runs, read_timing
from kron.language.crontabs.variables import Variables
from kron.language.fault import Fault
from kron.language.krontab import MAX_ERRORS, MAX_LINES
from kron.timing.zone import Zone

_NO_NEWLINE = (
    "The file does not end with a line feed. cron ignores this line, and some versions ignore the whole file. "
    "To import the line, end the file with a line feed."
)
_CARRIAGE_RETURN = "The line ends with a carriage return, which cron adds to the command. It is removed here."


@dataclass(frozen=True, slots=True)
class Crontab:
    """Crontab file: its text, its path, and the user that owns it; None if each line has a user column."""

    text: str
    path: str
    user: str | None = None


class CronEntry(NamedTuple):
    """Line that runs a command: its parts, when cron runs it, and the variables that apply to it."""

    entry: Entry
    timing: Timing
    variables: Variables


class CronLine(NamedTuple):
    """Line of a crontab: what became of it, and its entry if it runs a command.

    cron accepts a line that never runs, such as one for February 30. Kron does not: its row has an error.
    """

    row: Row
    entry: CronEntry | None = None
    never_runs: bool = False


def read_crontab(crontab: Crontab, zone: Zone) -> Iterator[CronLine]:
    """Yield the lines of a crontab that are not blank, each with an error if it is invalid.

    Args:
        crontab: The file.
        zone: Time zone of the host, which cron uses for lines without CRON_TZ.

    Raises:
        LanguageError: The file has too many lines or too many errors, so it is probably not a crontab.
    """
    variables, error_count = Variables(zone), 0
    *lines, last_line = crontab.text.split("\n")
    for number, raw_line in enumerate([*lines, last_line], 1):
        line = raw_line.removesuffix("\r")
        row = Row(crontab.path, number, line, Status.COMMENT)
        if not line.strip(" \t"):
            continue
        if number > MAX_LINES or error_count >= MAX_ERRORS:
            raise _limit_error(row, error_count)
        if line.lstrip(" \t").startswith("#"):
            yield CronLine(row)
        elif number > len(lines):
            yield CronLine(replace(row, status=Status.NOTED, notes=(_NO_NEWLINE,)))
        else:
            try:
                cron_line = _read_line(row, crontab.user, variables)
            except Fault as fault:
                cron_line = CronLine(failed_row(row, fault))
            error_count += cron_line.row.error is not None
            notes = (*cron_line.row.notes, _CARRIAGE_RETURN)
            has_note = line != raw_line and cron_line.row.error is None
            yield cron_line._replace(row=replace(cron_line.row, notes=notes)) if has_note else cron_line


def failed_row(row: Row, fault: Fault) -> Row:
    """Return the row of a line that has a fault."""
    return replace(row, status=Status.FAILED, error=fault.within(row.text, row.path, row.number))


def _limit_error(row: Row, error_count: int) -> LanguageError:
    place = Place(row.text, 0, len(row.text), row.path, row.number)
    if row.number > MAX_LINES:
        message, hint = f"file has more than {MAX_LINES} lines", "split the file"
        return LanguageError("TOO_LONG", message, place, hint=hint)
    message, hint = f"stopped reading after {error_count} invalid lines", "check that this is a crontab"
    return LanguageError("TOO_MANY_ERRORS", message, place, hint=hint)


def _read_line(row: Row, user: str | None, variables: Variables) -> CronLine:
    variable = read_variable(row.text)
    if variable:
        return CronLine(_read_variable_row(row, variable, variables))
    entry = read_entry(row.text, user)
    variables_here = replace(variables, values=dict(variables.values))
    if entry.schedule.lower() == WORD:
        return CronLine(replace(row, status=Status.REBOOT), CronEntry(entry, Timing(BOOT, ()), variables_here))
    try:
        timing = read_timing(entry.schedule, variables.zone, variables.delay)
    except Fault as fault:
        return CronLine(failed_row(row, fault.moved(entry.start)), never_runs=never_runs(entry.schedule))
    return CronLine(replace(row, status=Status.IMPORTED), CronEntry(entry, timing, variables_here))


def _read_variable_row(row: Row, variable: Variable, variables: Variables) -> Row:
    note = variables.set(variable)
    return replace(row, status=Status.VARIABLE, notes=(note,) if note else ())
