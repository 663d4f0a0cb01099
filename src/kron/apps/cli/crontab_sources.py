"""Crontabs of this host: files, folders such as /etc/cron.d, standard input, and the users that they name."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import MAX_FILE_BYTES, read_text, usage_error
from kron.errors import InvalidSchedule, NotFound
from kron.language.crontabs.read import Crontab

STDIN = "-"
SYSTEM_CRONTAB = Path("/etc/crontab")
MAX_FILES = 10_000  # files of one folder
_RUN_PARTS_NAME = re.compile(r"[A-Za-z0-9_-]+")  # cron ignores other names in /etc/cron.d, as run-parts does


def crontabs(args: argparse.Namespace, screen: Screen) -> Iterator[Crontab]:
    """Yield the crontabs that the command line names. Files of a folder whose names cron ignores are reported."""
    if args.user is not None and args.system:
        raise usage_error("--user and --system are mutually exclusive", "use only one of them")
    if args.sources.count(STDIN) > 1:
        raise usage_error("standard input is given twice", "give - once")
    for source in args.sources:
        if source == STDIN:
            yield _stdin_crontab(args)
        elif Path(source).is_dir():
            yield from _folder_crontabs(Path(source), args, screen)
        else:
            yield Crontab(read_text(source), source, args.user)


def has_user_column(path: Path) -> bool:
    """Return whether the lines of a crontab have a user column: /etc/crontab, and the files of a folder cron.d."""
    place = path.absolute()
    return place == SYSTEM_CRONTAB or place.parent.name == "cron.d"


def home_of(user: str) -> str | None:
    """Return the home directory of a user; empty if the directory does not exist, None if the user does not exist."""
    try:
        import pwd
    except ImportError:  # Windows has no such users
        return ""
    try:
        home = pwd.getpwnam(user).pw_dir
    except KeyError:
        return None
    return home if home.startswith("/") and Path(home).is_dir() else ""


def _stdin_crontab(args: argparse.Namespace) -> Crontab:
    if args.user is None and not args.system:
        hint = "add --user NAME, or --system if the lines have a user column"
        raise usage_error("the user of the crontab on standard input is unknown", hint)
    text = sys.stdin.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise InvalidSchedule("TOO_LONG", f"standard input is larger than {MAX_FILE_BYTES >> 20} MiB")
    return Crontab(text, STDIN, args.user)


def _folder_crontabs(folder: Path, args: argparse.Namespace, screen: Screen) -> Iterator[Crontab]:
    if args.user is not None:
        hint = "omit --user; the lines of a folder such as /etc/cron.d have a user column"
        raise usage_error(f"{folder} is a folder, and --user is given", hint)
    try:
        paths = sorted(path for path in folder.iterdir() if not path.is_dir())
    except OSError as error:
        raise NotFound("NOT_FOUND", f"{folder}: {error.strerror}") from None
    if len(paths) > MAX_FILES:
        raise InvalidSchedule("TOO_LONG", f"{folder} has more than {MAX_FILES} files", hint="give the files")
    for path in paths:
        if not _RUN_PARTS_NAME.fullmatch(path.name):
            screen.note(f"{path}: not imported: cron ignores names with characters other than A-Z a-z 0-9 _ -")
        elif not path.is_file():
            screen.note(f"{path}: not imported: it is not a file, or a link to none")
        else:
            yield Crontab(read_text(str(path)), str(path))
