"""`kron jobs`: list the jobs of a store."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.records import print_schedules
from kron.apps.cli.store_request import ask_store, job_record
from kron.apps.plural import plural
from kron.engine.registrar import Registrar
from kron.engine.request_check import MAX_PAGE_SIZE
from kron.rules.state import ScheduleState


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the jobs in the order of their names."""
    states = ask_store(args, lambda registrar: _jobs(args, registrar))
    print_schedules(args, screen, [job_record(state) for state in states[: args.limit]])
    if len(states) > args.limit:
        screen.note(f"{plural(args.limit, 'job')} shown; there are more: use --limit, --prefix or --label")
    return 0


async def _jobs(args: argparse.Namespace, registrar: Registrar) -> list[ScheduleState]:
    """Return the jobs up to the limit, and one more if there are more."""
    states = list[ScheduleState]()
    while len(states) <= args.limit:
        size = min(MAX_PAGE_SIZE, args.limit + 1 - len(states))
        last = states[-1].identity if states else ""
        page = await registrar.schedules(args.prefix, paused=args.paused, labels=args.label, after=last, limit=size)
        states += page
        if len(page) < size:
            break
    return states
