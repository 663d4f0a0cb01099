"""Records on the console: schedules and runs of a service or of a store, as a table, as JSON or as names."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.plural import plural
from kron.rules.outcome import REASON_TEXT, Reason

Record = Mapping[str, Any]  # fields as the HTTP API names them


def print_schedules(
    args: argparse.Namespace, screen: Screen, schedules: Sequence[Record], *, single: bool = False
) -> int:
    """Print schedules. With `single`, JSON is the only schedule instead of a list."""
    if args.output != "table":
        return print_result(
            args, screen, schedules[0] if single else schedules, [schedule["id"] for schedule in schedules]
        )
    rows = [
        (
            schedule["id"],
            schedule["schedule"],
            schedule["timezone"] or "-",
            schedule["next_run_at"] or "-",
            _pause_text(schedule),
        )
        for schedule in schedules
    ]
    screen.table(("ID", "SCHEDULE", "ZONE", "NEXT", "PAUSED"), rows)
    return 0


def print_runs(args: argparse.Namespace, screen: Screen, runs: Sequence[Record]) -> int:
    """Print runs."""
    if args.output != "table":
        return print_result(args, screen, runs, [run["key"] for run in runs])
    rows = [
        (
            run["period"],
            run["due_at"],
            run["started_at"] or "-",
            run["finished_at"] or "-",
            run["state"],
            run["reason"] or "-",
            str(run["attempt"]),
            run["key"][:12],
        )
        for run in runs
    ]
    screen.table(("PERIOD", "DUE", "STARTED", "FINISHED", "STATE", "REASON", "ATTEMPT", "KEY"), rows)
    return 0


def print_trigger(args: argparse.Namespace, screen: Screen, run: Record) -> int:
    """Print the run of a trigger. Return 1 if the run was skipped at once."""
    print_runs(args, screen, [run])
    if run["state"] == "skipped" and run["reason"]:
        screen.note(f"the run was skipped: {REASON_TEXT[Reason(run['reason'])]}")
    return int(run["state"] == "skipped")


def print_result(args: argparse.Namespace, screen: Screen, value: Any, lines: Sequence[str]) -> int:
    """Print a value as JSON, or the lines."""
    if args.output == "json":
        screen.json(value)
    else:
        for line in lines:
            screen.line(line)
    return 0


def _pause_text(schedule: Record) -> str:
    if schedule.get("runs_left") == 0 and not schedule["paused"]:
        return f"over after {plural(schedule['run_count'], 'run')}"
    return (
        "no" if not schedule["paused"] else f"until {schedule['paused_until']}" if schedule["paused_until"] else "yes"
    )
