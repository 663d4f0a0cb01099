"""Input of a command: a schedule given on the command line, or jobs from a krontab file."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.cli.options import DIALECT
from kron.apps.search_end import no_run_error
from kron.engine.clock import SystemClock
from kron.errors import InvalidSchedule, NotFound, UsageError, did_you_mean
from kron.language.auto import read_by_all
from kron.language.boot_form import NEXT_BOOT, is_boot
from kron.language.dialect import AUTO
from kron.language.door import COMMAND_LINE
from kron.language.krontab import Table, read_table
from kron.language.options import Options
from kron.language.reading import Reading, read, zone_of
from kron.language.sentences.placeholder import is_placeholder
from kron.timing.decision import Decision
from kron.timing.schedule import Schedule
from kron.timing.upcoming import upcoming_decisions
from kron.timing.upcoming_runs import upcoming_runs
from kron.timing.zone import instant_of

MAX_FILE_BYTES = 16 << 20  # maximum file size in bytes
NO_IDENTITY = "-"  # identity of a schedule whose decisions do not depend on an identity


@dataclass(frozen=True, slots=True)
class Subject:
    """A schedule with its source text, the identity used for its decisions, and its job name in a file."""

    text: str
    schedule: Schedule
    identity: str
    name: str = ""
    dialect: str = DIALECT

    def next_decision(self, after: int) -> Decision:
        """Return the next decision after `after` (seconds since the epoch), of a run or of an unschedulable period.

        Raises:
            InvalidSchedule: No date satisfies the schedule.
            NotFound: The search for a period ended at a bound.
        """
        decision = next(upcoming_decisions(self.schedule, self.identity, after), None)
        if decision is not None:
            return decision
        runs, end = upcoming_runs(self.schedule, self.identity, after, 1)
        if end is not None:
            raise no_run_error(end, after)
        return runs[0].decision


def usage_error(message: str, hint: str) -> UsageError:
    """Return an error for a wrong command line, with a hint that corrects it."""
    return UsageError("USAGE", message, hint=hint)


def subjects(args: argparse.Namespace, screen: Screen) -> list[Subject]:
    """Return the schedules that the command line selects."""
    if args.file is None:
        return [schedule_argument(args)]
    table = load(args.file)
    if table.errors and not args.name:
        raise table.errors[0]
    if table.errors:
        screen.note(f"{args.file}: ignored invalid lines: {len(table.errors)}; run kron lint -f {args.file}")
    selected_subjects = [
        Subject(line.schedule, line.job.schedule, args.identity or line.job.identity, line.job.name, line.dialect)
        for line in table.lines
        if args.name in (None, line.job.name)
    ]
    if not selected_subjects:
        names = [line.job.name for line in table.lines]
        problem = f"no job {args.name!r}" if args.name else "no jobs"
        raise NotFound(
            "NOT_FOUND",
            f"{args.file} has {problem}",
            hint=did_you_mean(args.name or "", names, f"its jobs: {', '.join(names[:10]) or 'none'}"),
        )
    return _with_times(selected_subjects, screen)


def _with_times(selected: list[Subject], screen: Screen) -> list[Subject]:
    """Return the subjects that have times, and say of the others when they run.

    Raises:
        NotFound: None of them has times.
    """
    subjects_with_times = [each for each in selected if not is_boot(each.schedule)]
    if not subjects_with_times:
        message = f"job {selected[0].name!r} runs {NEXT_BOOT}, and has no times"
        raise NotFound("NOT_FOUND", message, hint="krond runs it; krontab next and krontab status show it")
    for each in selected:
        if is_boot(each.schedule):
            screen.note(f"{each.name}: {NEXT_BOOT}, by krond")
    return subjects_with_times


def schedule_argument(args: argparse.Namespace) -> Subject:
    """Return the schedule given on the command line."""
    reading = read_argument(args, args.identity or "")
    return Subject(reading.text, reading.schedule, args.identity or NO_IDENTITY, dialect=reading.dialect)


def read_argument(args: argparse.Namespace, identity: str) -> Reading:
    """Read the schedule of the command line in the dialect that it or an option names, or in all dialects."""
    if args.name is None:
        raise usage_error(
            "no schedule given", 'give a schedule in quotes, such as "0 9 * * MON-FRI", or a file with -f'
        )
    return read_schedule_text(args.name, args.dialect, now(args), identity, args.timezone)


def read_schedule_text(text: str, dialect: str | None, after: int, identity: str, timezone: str = "UTC") -> Reading:
    """Read a text in a dialect of the command line; with `auto`, in all dialects.

    Args:
        text: The text.
        dialect: Dialect that the user named; None if the user named none.
        after: Instant after which an error shows times, in seconds since the epoch.
        identity: Identity of the job; empty if there is none.
        timezone: Time zone of a text that names none.
    """
    options = Options(zone_of(timezone), identity=identity)
    if dialect == AUTO:
        return read_by_all(text, options, after, default=DIALECT, door=COMMAND_LINE)
    default = "placeholder" if is_placeholder(text) else DIALECT
    return read(text, dialect, options, default=default, door=COMMAND_LINE)


def with_identity(subject: Subject) -> Subject:
    """Return the subject if its decisions can be computed; a schedule with a window needs an identity."""
    if subject.identity == NO_IDENTITY and subject.schedule.window.duration:
        message = "a schedule with a window needs an identity, and none is given"
        raise usage_error(message, "add --identity NAME, the identity of the job")
    return subject


def load(path: str) -> Table:
    """Read and parse a krontab file."""
    return read_table(read_text(path), str(Path(path).absolute()))


def read_text(path: str) -> str:
    """Read a UTF-8 text file of at most `MAX_FILE_BYTES` bytes."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise InvalidSchedule("TOO_LONG", f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB")
        return content.decode("utf-8")
    except OSError as error:
        raise NotFound("NOT_FOUND", f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidSchedule("BAD_CHARACTER", f"{path}: byte {error.start} is not UTF-8") from None


def now(args: argparse.Namespace) -> int:
    """Return the instant that the command refers to, in seconds since the epoch: `--at`, or the current time."""
    return int(SystemClock().now()) if getattr(args, "at", None) is None else instant_argument(args.at)


def instant_argument(text: str) -> int:
    """Return an instant of the command line in seconds since the epoch."""
    try:
        return instant_of(text)
    except ValueError as error:
        raise usage_error(str(error), "use an instant such as 2026-03-01T00:00:00Z") from None
