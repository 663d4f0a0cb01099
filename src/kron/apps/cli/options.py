"""The options that several commands have, and how each is put."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

from kron.apps.cli.screen import Screen

DIALECTS = ("posix", "service", "kron", "fuzzy")  # not imported: `--help` need not load the language


def define(commands: Any, name: str, what: str, example: str) -> argparse.ArgumentParser:
    """A command, with what it does in a line and an example."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=f"example:\n  kron {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=_runner(name))
    return command


def _runner(name: str) -> Callable[[argparse.Namespace, Screen], int]:
    """Runs the command of that name; its module is loaded only then."""

    def run(args: argparse.Namespace, screen: Screen) -> int:
        return int(import_module(f"kron.apps.cli.{name.replace('-', '_')}").run(args, screen))

    return run


def add_subject(command: argparse.ArgumentParser) -> None:
    """What a command is about: a schedule, or the jobs of a file."""
    command.add_argument("name", nargs="?", metavar="SCHEDULE", help="a schedule in quotes; with -f, the name of a job")
    command.add_argument("-f", "--file", help="a krontab file")
    command.add_argument("--identity", help="the name that the job runs under; windows are drawn for it")
    command.add_argument("--dialect", choices=DIALECTS, default="kron", help="how to read SCHEDULE (default kron)")
    command.add_argument("--zone", default="UTC", help="the time zone, where SCHEDULE names none (default UTC)")
    add_format(command)


def add_format(command: argparse.ArgumentParser) -> None:
    """For people, or for programs."""
    command.add_argument("--format", choices=("text", "json"), default="text", help="json: for programs")


def add_at(command: argparse.ArgumentParser, what: str) -> None:
    """An instant."""
    command.add_argument("--at", metavar="INSTANT", help=f"{what}, such as 2026-03-01T00:00:00Z (default: now)")


def count(text: str) -> int:
    """A number of things."""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= 10_000):
        raise argparse.ArgumentTypeError("a number from 1 to 10000")
    return int(text)


def days(text: str) -> int:
    """A number of days; 0 for no limit."""
    return 0 if text == "0" else count(text)
