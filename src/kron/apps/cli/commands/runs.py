"""`kron runs`: show the recent runs of a job."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.records import print_runs
from kron.apps.cli.store_request import ask_store, run_record
from kron.engine.registrar import Registrar
from kron.engine.request_check import MAX_PAGE_SIZE
from kron.rules.attempt import last_error
from kron.rules.run import Run

MAX_RUNS_READ = 100_000  # runs that are read in search of those with a state or an outcome


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the runs, newest first."""
    runs, errors, complete = ask_store(args, lambda registrar: _answer(args, registrar))
    print_runs(args, screen, [run_record(run) | {"error": error} for run, error in zip(runs, errors, strict=True)])
    if not complete:
        screen.note(f"the search ended after {MAX_RUNS_READ:,} runs")
    return 0


async def _answer(args: argparse.Namespace, registrar: Registrar) -> tuple[list[Run], list[str | None], bool]:
    """Return the runs that match, the error of each, and whether the search ended before its bound."""
    runs, complete = await _runs(args, registrar)
    attempts = await registrar.store.attempts([run.key for run in runs]) if args.output == "json" else [()] * len(runs)
    return runs, [last_error(each) for each in attempts], complete


async def _runs(args: argparse.Namespace, registrar: Registrar) -> tuple[list[Run], bool]:
    """Return the runs that match, and whether the search ended before its bound."""
    runs, last, read = list[Run](), "", 0
    size = MAX_PAGE_SIZE if args.state or args.outcome else min(MAX_PAGE_SIZE, args.limit)
    while read < MAX_RUNS_READ:
        page = await registrar.runs(args.job, before=last, limit=size)
        runs += [run for run in page if _matches(run, args)]
        if len(runs) >= args.limit or len(page) < size:
            return runs[: args.limit], True
        last, read = page[-1].key, read + len(page)
    return runs, False


def _matches(run: Run, args: argparse.Namespace) -> bool:
    return args.state in (None, run.state) and args.outcome in (None, run.outcome)
