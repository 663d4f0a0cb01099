"""`kron resume`: resume a job of a store."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.records import print_schedules
from kron.apps.cli.store_request import actor_of, ask_store, job_record


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Resume the job and print it."""
    state = ask_store(args, lambda registrar: registrar.resume(args.job, actor_of(args)))
    return print_schedules(args, screen, [job_record(state)], single=True)
