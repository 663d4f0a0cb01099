"""The command line: `kron`, and `krontab` for those whose fingers say so."""

from __future__ import annotations

import os
import sys

from kron.apps.cli.screen import Screen
from kron.errors import KronError


def main(argv: list[str] | None = None) -> int:
    """Run one command. 0: fine; 1: invalid or not found; 2: the command line itself is wrong."""
    from kron.apps.cli.commands import parser

    screen = Screen(sys.stdout, sys.stderr)
    args = parser(sys.argv[0].rpartition(os.sep)[2]).parse_args(argv)
    try:
        status = int(args.run(args, screen))
        sys.stdout.flush()
    except KronError as error:
        screen.error(error)
        return 2 if error.code == "USAGE" else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; that is its right
        return 0
    return status
