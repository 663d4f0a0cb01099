"""`kron fmt`: print or write schedules and krontab files in their canonical form."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import load, read_text, schedule_argument, usage_error
from kron.language.boot_form import is_boot
from kron.language.canonical import canonical, unparse
from kron.language.dialect import TABLE
from kron.language.english import describe
from kron.language.foreign import WRITERS
from kron.language.foreign.aws_text import start_date
from kron.language.krontab import DIALECT, Line
from kron.timing.schedule import Schedule


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the canonical form, write it (`--write`), or check it (`--check`)."""
    if args.write and not args.file:
        raise usage_error("--write needs a file, and none is given", "add -f FILE")
    before, after = _file(args) if args.file else _text(args)
    if args.check:
        if before != after:
            screen.note(f"{args.file or 'the schedule'} is not in canonical form")
        return int(before != after)
    if args.write:
        if before != after:
            replace_file(Path(args.file), after)
            screen.note(f"{args.file} rewritten")
    elif args.output == "json":
        screen.json({"text": after, **({} if args.file else _facts(args))})
    else:
        screen.out.write(after if args.file else after + "\n")
        start = None if args.file else _start_date(args)
        if start:
            screen.note(f"set the start date of the EventBridge schedule to {start}")
    return 0


def _facts(args: argparse.Namespace) -> dict[str, str]:
    """Return what the JSON output has in addition to the text of one schedule."""
    start = _start_date(args)
    return {"english": describe(schedule_argument(args).schedule), **({"start_date": start} if start else {})}


def _start_date(args: argparse.Namespace) -> str | None:
    """Return the start of a rate, which an EventBridge expression does not have."""
    return start_date(schedule_argument(args).schedule) if args.to == "aws" else None


def _text(args: argparse.Namespace) -> tuple[str, str]:
    return args.name or "", _canonical(schedule_argument(args).schedule, args.to)


def _file(args: argparse.Namespace) -> tuple[str, str]:
    """Return the file as it is and in canonical form; comments, blank lines and text after a schedule stay."""
    if args.name:
        raise usage_error("fmt formats whole files, not one job", "omit the name of the job")
    if args.to not in ("kron", "posix"):
        raise usage_error(f"--to {args.to} prints one schedule, not a file", "give a schedule in quotes")
    before, table = read_text(args.file), load(args.file)
    if table.errors:
        raise table.errors[0]
    lines = before.split("\n")
    for line in table.lines:
        end = "\r" if lines[line.number - 1].endswith("\r") else ""
        lines[line.number - 1] = f"{_line_schedule(line, args.to)} {line.rest.rstrip()}{end}"
    return before, "\n".join(lines)


def _line_schedule(line: Line, to: str) -> str:
    """Return the canonical schedule of a krontab line. A sentence stays as it is: its cron line is for one identity."""
    if is_boot(line.job.schedule):
        return line.schedule
    if to == "kron" and TABLE[line.dialect].sentences:
        return f"{line.dialect}: {line.schedule}"
    text, dialect = _canonical(line.job.schedule, to), canonical(line.job.schedule).dialect if to == "kron" else to
    return text if dialect in (DIALECT, "posix") else f"{dialect}: {text}"


def _canonical(schedule: Schedule, to: str) -> str:
    return unparse(schedule) if to == "kron" else WRITERS[to](schedule)


def replace_file(path: Path, text: str) -> None:
    """Replace the file's content atomically and keep the file's permissions."""
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=path.name, delete=False) as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).chmod(path.stat().st_mode & 0o7777)
    Path(file.name).replace(path)
