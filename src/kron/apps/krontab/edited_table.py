"""Edited table: the table that `krontab edit` reads and installs, in a folder or through the socket of a daemon."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Protocol

from kron.apps.cli.console import Screen
from kron.apps.host.place import Place
from kron.apps.host.wire import Request
from kron.apps.krontab.control_client import print_answer, read_answer, socket_of
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.table_writer import check_name, digest_of, install, read_content
from kron.errors import UsageError

DEFAULT_NAME = "jobs"  # of the first table


class EditedTable(Protocol):
    """A table, its name, and its content before it is edited; None if it is new."""

    name: str
    old: bytes | None

    def install(self, content: bytes, screen: Screen) -> bool:
        """Install a new content. Returns False, and prints the problems, if the daemon would refuse it."""


def edited_table(args: argparse.Namespace) -> EditedTable:
    """Return the table that the command line names, or the only one.

    Raises:
        KronError: There are several tables and none is named, or the table cannot be read.
    """
    path = socket_of(args)
    return _LocalTable(read_place(args), args.table) if path is None else _RemoteTable(path, args)


class _LocalTable:
    """Table of a folder."""

    def __init__(self, place: Place, name: str | None) -> None:
        self.place, self.name = place, check_name(place, name or _only_table(place))
        self.old = read_content(place, self.name)

    def install(self, content: bytes, screen: Screen) -> bool:
        return install(self.place, self.name, content, screen, replaces=digest_of(self.old))


class _RemoteTable:
    """Table of a daemon that answers at a socket."""

    def __init__(self, path: Path, args: argparse.Namespace) -> None:
        self.path, self.owner = path, [f"-u={args.owner}"] if args.owner else []
        names = [each["table"] for each in read_answer(path, "list", self.owner)]
        self.name = args.table or _only(names, "krond") or ""
        self.old = None
        if self.name in names:
            self.old = str(read_answer(path, "list", [*self.owner, "--", self.name])["text"]).encode()

    def install(self, content: bytes, screen: Screen) -> bool:
        name = [f"--name={self.name}"] if self.name else []  # a user's first table has the name of the user
        words = [*self.owner, *name, f"--replaces={digest_of(self.old)}", "--", "-"]
        return print_answer(self.path, Request("install", tuple(words), len(content)), content, screen) == 0


def _only_table(place: Place) -> str | None:
    """Return the name of the only table of the folder, or of the first one."""
    if place.only:
        return None
    names = [Path(path).name for path in place.folder.scan().tables] if place.config.exists() else []
    return _only(names, str(place.config)) or DEFAULT_NAME


def _only(names: list[str], owner: str) -> str | None:
    if len(names) > 1:
        hint = f"name one of them: {', '.join(names[:10])}"
        raise UsageError("USAGE", f"{owner} has {len(names)} tables", hint=hint)
    return names[0] if names else None
