"""`krond`: the command line of the daemon."""

from __future__ import annotations

import asyncio
import logging
import sys

from kron.apps.cli.console import Screen
from kron.apps.cycle_collector import collect_rarely
from kron.apps.daemon.dry_run import dry_run
from kron.apps.daemon.log_handler import LogHandler
from kron.apps.daemon.options import Options, parser, read_options
from kron.apps.host.state_folder import locked
from kron.apps.open_files import allow_more
from kron.engine.log_writer import log_stream
from kron.errors import KronError, UsageError


def main(argv: list[str] | None = None) -> int:
    """Run the daemon until it is told to stop, and return its exit status.

    Returns:
        0 after a normal end; 1 if the daemon cannot start, or with `--dry-run` if a table would not be used; 2 if the
        command line is wrong.
    """
    screen = Screen(sys.stdout, sys.stderr)
    try:
        options = read_options(parser().parse_args(argv))
        if options.dry_run:
            return dry_run(options.place.folders, screen)
        return _run(options)
    except KronError as error:
        screen.error(error)
        return 2 if isinstance(error, UsageError) else 1


def _run(options: Options) -> int:
    from kron.apps.daemon.daemon import run_daemon

    collect_rarely()
    allow_more()
    sink, log = log_stream(sys.stderr, options.log, "info")
    logging.basicConfig(level=logging.WARNING, handlers=[LogHandler(sink)])
    try:
        with locked(options.place.state):
            asyncio.run(run_daemon(options, sink))
    finally:
        log.close()
    return 0
