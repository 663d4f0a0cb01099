"""`krontab install`: check a krontab file and install it as a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.daemon.table_file import MAX_FILE_BYTES
from kron.apps.krontab.parser import COMMAND_NAMES, read_place
from kron.apps.krontab.table_writer import check_name, install
from kron.errors import NotFound, UsageError, did_you_mean


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Install the file. Returns 1 if the daemon would refuse it; the table then stays as it is."""
    if args.file == "-" and args.name is None:
        raise UsageError(
            "USAGE", "standard input has no name", hint="name the table with --name, such as --name backup"
        )
    content = _content(args.file)
    name = check_name(args.name or Path(args.file).name)
    return int(not install(read_place(args), name, content, screen))


def _content(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        hint = did_you_mean(path, sorted(COMMAND_NAMES), "give a krontab file, or run krontab --help for the commands")
        raise NotFound("NOT_FOUND", f"{path}: {error.strerror}", hint=hint) from None
