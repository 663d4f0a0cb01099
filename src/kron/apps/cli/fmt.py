"""`kron fmt`: schedules and krontab files in their canonical form."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from kron.apps.cli.screen import Screen
from kron.apps.cli.subject import given, load, read_text, usage
from kron.core.schedule import Schedule
from kron.errors import KronError
from kron.language.english import english
from kron.language.explain import lower, unparse


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the canonical form, or write it, or only check it."""
    if args.write and not args.file:
        raise usage("--write rewrites a file, and none is given", "name it with -f")
    before, after = _file(args) if args.file else _text(args)
    if args.check:
        if before != after:
            screen.note(f"{args.file or 'the schedule'} is not in its canonical form")
        return int(before != after)
    if args.write:
        if before != after:
            replace_file(Path(args.file), after)
            screen.note(f"{args.file} rewritten")
    elif args.format == "json":
        screen.json({"text": after, **({} if args.file else {"english": english(given(args).schedule)})})
    else:
        screen.out.write(after if args.file else after + "\n")
    return 0


def _text(args: argparse.Namespace) -> tuple[str, str]:
    return args.name or "", _canonical(given(args).schedule, args.to)


def _file(args: argparse.Namespace) -> tuple[str, str]:
    """The file as it is and as it would be: comments, blank lines and everything after the schedule stay."""
    if args.name:
        raise usage("fmt takes a whole file", "leave the name of the job out")
    before, table = read_text(args.file), load(args.file)
    if table.errors:
        raise table.errors[0]
    lines = before.split("\n")
    for line in table.lines:
        end = "\r" if lines[line.number - 1].endswith("\r") else ""
        lines[line.number - 1] = f"{_canonical(line.job.schedule, args.to)} {line.rest.rstrip()}{end}"
    return before, "\n".join(lines)


def _canonical(schedule: Schedule, to: str) -> str:
    if to == "kron":
        return unparse(schedule)
    if schedule.cron.seconds != 1 or unparse(schedule).count("@") - unparse(schedule).count("@tz("):
        hint = "strict POSIX cron is five fields and nothing else"
        raise KronError("NOT_POSIX", "this says more than strict POSIX cron can", hint=hint)
    return lower(schedule.cron)


def replace_file(path: Path, text: str) -> None:
    """Put the new text in the file's place in one step, with the file's own permissions."""
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=path.name, delete=False) as new:
        new.write(text.encode())
        new.flush()
        os.fsync(new.fileno())
    Path(new.name).chmod(path.stat().st_mode & 0o7777)
    Path(new.name).replace(path)
