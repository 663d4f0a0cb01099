"""Job command: a command of `kron` about one job of a store, with the store and the job names of the daemon."""

from __future__ import annotations

import argparse
from importlib import import_module

from kron.apps.cli.console import Screen
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.records import find_job
from kron.errors import NotFound

CHANGES = ("trigger", "pause", "resume")  # a job that was removed has records, but cannot be changed


def run_job_command(name: str, args: argparse.Namespace, screen: Screen) -> int:
    """Run the command `name` of `kron` for the job of the command line."""
    place = read_place(args)
    args.identity = args.job = find_job(place, args.job)
    args.store = f"sqlite:{place.state}"
    args.state = args.outcome = None  # `--state` of `kron runs` selects runs
    try:
        return int(import_module(f"kron.apps.cli.commands.{name}").run(args, screen))
    except NotFound as error:
        if name not in CHANGES:
            raise
        message = f"job {place.short(args.identity)!r} is no longer in a table"
        raise NotFound("NOT_FOUND", message, hint="krontab next shows the jobs in force") from error
