"""`kron trigger`: run a job of a store now."""

from __future__ import annotations

import argparse
from uuid import uuid4

from kron.apps.cli.console import Screen
from kron.apps.cli.records import print_trigger
from kron.apps.cli.store_request import actor_of, ask_store, run_record
from kron.engine.registrar import Registrar
from kron.rules.downtime import EVER
from kron.rules.run import Run


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Record the request and print its run, which a process that runs the job starts.

    Returns:
        1 if the run was skipped, because another one waits or is active; else 0.
    """
    run, has_worker = ask_store(args, lambda registrar: _trigger(args, registrar))
    if run.open and not has_worker:
        then = "the run waits until one starts, and then the overlap policy of the job applies"
        screen.note(f"no living process can run {args.job!r}: {then}")
    return print_trigger(args, screen, run_record(run))


async def _trigger(args: argparse.Namespace, registrar: Registrar) -> tuple[Run, bool]:
    """Return the run of the request, and whether a living process can run the job."""
    run = await registrar.trigger(args.job, args.request or uuid4().hex, actor_of(args))
    state = await registrar.get(args.job)
    return run, state.downtime.end != EVER
