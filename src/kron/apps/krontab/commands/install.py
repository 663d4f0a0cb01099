"""`krontab install`: check a krontab file and install it as a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.host.table_file import MAX_FILE_BYTES
from kron.apps.krontab.parser import COMMAND_NAMES, read_place
from kron.apps.krontab.table_writer import check_name, install
from kron.errors import NotFound, UsageError, did_you_mean


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Install the file. Returns 1 if the daemon would refuse it; the table then stays as it is."""
    place = read_place(args)
    name = check_name(place, args.name or (None if place.only else file_name(args)))
    content = read_input(args.file) if args.content is None else args.content
    return int(not install(place, name, content, screen, replaces=args.replaces))


def file_name(args: argparse.Namespace) -> str:
    """Return the name of the file.

    Raises:
        UsageError: It is the standard input.
    """
    if args.file == "-":
        hint = "name the table with --name, such as --name backup"
        raise UsageError("USAGE", "standard input has no name", hint=hint)
    return Path(args.file).name


def read_input(path: str) -> bytes:
    """Return the content of a file, or of the standard input.

    Raises:
        NotFound: The file cannot be read.
    """
    if path == "-":
        return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        hint = did_you_mean(path, sorted(COMMAND_NAMES), "give a krontab file, or run krontab --help for the commands")
        raise NotFound("NOT_FOUND", f"{path}: {error.strerror}", hint=hint) from None
