"""What a command is about: a schedule given on the command line, or jobs out of a krontab file."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from kron.apps.cli.screen import Screen
from kron.clock import SystemClock
from kron.core.schedule import Schedule
from kron.core.zone import instant_of
from kron.errors import KronError, did_you_mean
from kron.language import parse
from kron.language.table import Table, read_table

LARGEST = 16 << 20  # bytes of a file
NOBODY = "-"  # the identity of a schedule whose decisions do not depend on one


@dataclass(frozen=True, slots=True)
class Subject:
    """A schedule with the text that said it, the identity that it is decided for, and its name in a file."""

    text: str
    schedule: Schedule
    identity: str
    name: str = ""


def usage(message: str, hint: str) -> KronError:
    """The command line is wrong, and what would do."""
    return KronError("USAGE", message, hint=hint)


def subjects(args: argparse.Namespace, screen: Screen) -> list[Subject]:
    """The schedules that a command is about."""
    if args.file is None:
        return [given(args)]
    table = load(args.file)
    if table.errors and not args.name:
        raise table.errors[0]
    if table.errors:
        screen.note(f"{args.file}: {len(table.errors)} other lines cannot be read; kron lint -f {args.file} says why")
    found = [
        Subject(line.schedule, line.job.schedule, args.identity or line.job.identity, line.job.name)
        for line in table.lines
        if args.name in (None, line.job.name)
    ]
    if not found:
        names = [line.job.name for line in table.lines]
        what = f"no job {args.name!r}" if args.name else "no jobs"
        raise KronError(
            "NOT_FOUND",
            f"{args.file} has {what}",
            hint=did_you_mean(args.name or "", names, f"its jobs: {', '.join(names[:10]) or 'none'}"),
        )
    return found


def given(args: argparse.Namespace) -> Subject:
    """The schedule on the command line."""
    if args.name is None:
        raise usage("there is no schedule", 'give one in quotes, such as "0 9 * * MON-FRI", or a file with -f')
    schedule = parse(args.name, dialect=args.dialect, zone=args.zone, identity=args.identity or "")
    return Subject(args.name, schedule, args.identity or NOBODY)


def with_identity(subject: Subject) -> Subject:
    """The subject, if its decisions can be computed: a window needs to know for whom."""
    if subject.identity == NOBODY and subject.schedule.window.duration:
        message = "a window is drawn for an identity, and none is given"
        raise usage(message, "add --identity NAME, the name that the job runs under")
    return subject


def load(path: str) -> Table:
    """The krontab file."""
    return read_table(read_text(path), str(Path(path).absolute()))


def read_text(path: str) -> str:
    """A text file, if it is one and not absurdly large."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise KronError("TOO_LONG", f"{path} is larger than {LARGEST >> 20} MiB")
        return content.decode("utf-8")
    except OSError as error:
        raise KronError("NOT_FOUND", f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise KronError("BAD_CHARACTER", f"{path}: byte {error.start} is not UTF-8") from None


def now(args: argparse.Namespace) -> int:
    """The instant that the command is asked about: --at, or the clock."""
    if args.at is None:
        return int(SystemClock().now())
    try:
        return instant_of(args.at)
    except ValueError as error:
        raise usage(str(error), "write an instant such as 2026-03-01T00:00:00Z") from None
