"""`krontab reload`: make the daemon read its tables, and wait until it has."""

from __future__ import annotations

import argparse
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.host.wire import Request
from kron.apps.krontab.control_client import print_answer, socket_of
from kron.apps.krontab.parser import read_place


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Ask the daemon through its socket, which every daemon has."""
    path = socket_of(args) or read_place(args).socket
    return print_answer(Path(str(path)), Request("reload"), None, screen)
