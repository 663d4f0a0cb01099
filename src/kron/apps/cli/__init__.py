"""Command-line interface: `kron`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from kron.apps.cli.console import Screen
from kron.errors import KronError, UsageError


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Returns:
        0 on success; 1 if the input is invalid or not found; 2 if the command line itself is wrong;
        130 after an interrupt.
    """
    from kron.apps.cli.parser import parser

    return run_command(parser(sys.argv[0].rpartition(os.sep)[2]), argv)


def run_command(
    parser: ArgumentParser, argv: list[str] | None, run: Callable[[Namespace, Screen], int] | None = None
) -> int:
    """Run the command that a parser finds in `argv`, by `run` if it is given, and return its exit status."""
    screen = Screen(sys.stdout, sys.stderr)
    args = parser.parse_args(argv)
    try:
        status = int((run or args.run)(args, screen))
        sys.stdout.flush()
    except KronError as error:
        screen.error(error)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader closed the pipe: not an error
        return 0
    return status
