"""Remote commands: commands of `krontab` that a daemon runs, because this user cannot read its files."""

from __future__ import annotations

import argparse
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.host.wire import Request
from kron.apps.krontab.commands.install import read_input
from kron.apps.krontab.control_client import print_answer, socket_of
from kron.apps.krontab.parser import words_of
from kron.apps.krontab.question import confirmed


def run_here_or_there(args: argparse.Namespace, screen: Screen) -> int:
    """Run a command here, or in the daemon if this user has to ask it. An editor runs here."""
    path = socket_of(args)
    if path is None or args.command in ("edit", "reload"):
        return int(args.run(args, screen))
    content = None
    if args.command == "install":
        content = read_input(args.file)
        args.file = Path(args.file).name  # the daemon gives the table this name
    if args.command == "remove" and not args.yes and not confirmed("remove the table?", screen, default=False):
        screen.note("the table stays")
        return 1
    request = Request(args.command, words_of(args), None if content is None else len(content))
    return print_answer(path, request, content, screen, follows=getattr(args, "follow", False))
