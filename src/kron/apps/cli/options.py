"""Options that several commands share, and helpers that define commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from importlib import import_module
from keyword import iskeyword
from typing import Any

from kron.apps.cli.console import Screen
from kron.language.dialect import AUTO, DIALECTS

RUN_KEY_HELP = "the run with this key of 64 digits, scheduled or requested; -o name of runs prints it"
DIALECT = "kron"  # dialect of a schedule on the command line that names none


COMMANDS = "kron.apps.cli.commands"  # package that has a module for each command


def define(
    commands: Any, name: str, summary: str, *examples: str, program: str = "kron", package: str = COMMANDS
) -> argparse.ArgumentParser:
    """Add a command with a one-line description and examples. Its module is in `package`."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog="\n".join(["example:", *(f"  {program} {example}" for example in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=_runner(name, package), program=program)
    return command


def _runner(name: str, package: str) -> Callable[[argparse.Namespace, Screen], int]:
    """Return a function that runs the command of that name; it imports the command's module only when called."""
    module = f"{name}_" if iskeyword(name) else re.sub("[- ]", "_", name)

    def run(args: argparse.Namespace, screen: Screen) -> int:
        return int(import_module(f"{package}.{module}").run(args, screen))

    return run


def add_subject(command: argparse.ArgumentParser, *formats: str) -> None:
    """Add the options that select the input, a schedule or the jobs of a file, and the output format."""
    command.add_argument("name", nargs="?", metavar="SCHEDULE", help="schedule in quotes; with -f, name of a job")
    command.add_argument("-f", "--file", help="krontab file")
    command.add_argument("--identity", type=identity, help="identity of the job; times in windows depend on it")
    add_dialect(command, f"dialect of SCHEDULE (default {DIALECT}); auto: all that accept it must agree")
    command.add_argument(
        "--timezone", metavar="ZONE", default="UTC", help="time zone if SCHEDULE names none (default UTC)"
    )
    add_format(command, *formats)


def add_dialect(command: argparse.ArgumentParser, summary: str) -> None:
    """Add the `--dialect` option. None means that the option is not given."""
    command.add_argument("--dialect", choices=(*DIALECTS, AUTO), help=summary)


def add_format(command: argparse.ArgumentParser, *more: str) -> None:
    """Add the option that selects text or JSON output, or `more` formats."""
    command.add_argument(
        "-o", "--output", choices=("text", "json", *more), default="text", help="output format (default text)"
    )


def add_record_format(command: argparse.ArgumentParser) -> None:
    """Add the option that selects how records are printed: a table, JSON, or their names or keys."""
    command.add_argument(
        "-o", "--output", choices=("table", "json", "name"), default="table", help="output format (default table)"
    )


def add_shared_store(command: argparse.ArgumentParser) -> None:
    """Add the option that selects an existing store, which the environment can name too."""
    command.add_argument("--store", metavar="URL", help="store URL, such as sqlite:PATH (default: $KRON_STORE)")


def add_at(command: argparse.ArgumentParser, summary: str) -> None:
    """Add the `--at` option."""
    command.add_argument("--at", metavar="INSTANT", help=f"{summary}, such as 2026-03-01T00:00:00Z (default: now)")


def add_context(command: argparse.ArgumentParser) -> None:
    """Add the `--context` option. An empty text means that the option is not given."""
    context_help = "context of the kubeconfig (default: its current context)"
    command.add_argument("--context", metavar="NAME", default="", help=context_help)


def identity(text: str) -> str:
    """Return an identity. Bytes that are not UTF-8 are surrogates in an argument."""
    if any(character < " " or "\ud800" <= character <= "\udfff" for character in text):
        raise argparse.ArgumentTypeError("expected UTF-8 text without control characters")
    return text


def count(text: str) -> int:
    """Parse a number from 1 to 10,000."""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= 10_000):
        raise argparse.ArgumentTypeError("expected a number from 1 to 10000")
    return int(text)


def years(text: str) -> int:
    """Parse a number from 1 to 100."""
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= 100):
        raise argparse.ArgumentTypeError("expected a number from 1 to 100")
    return int(text)


def days(text: str) -> int:
    """Parse a number of days; 0 means no limit."""
    return 0 if text == "0" else count(text)
