"""`kron pause`: pause a job of a store in every process."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import instant_argument
from kron.apps.cli.records import print_schedules
from kron.apps.cli.store_request import actor_of, ask_store, job_record


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Pause the job and print it."""
    until = None if args.until is None else instant_argument(args.until) * 1000
    state = ask_store(args, lambda registrar: registrar.pause(args.job, actor_of(args), until=until))
    return print_schedules(args, screen, [job_record(state)], single=True)
