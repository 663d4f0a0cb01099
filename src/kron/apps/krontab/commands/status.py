"""`krontab status`: show whether the daemon runs, its tables, its running commands and the next runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from heapq import nsmallest

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import now
from kron.apps.cli.store_request import run_record
from kron.apps.host.place import Place
from kron.apps.host.state_folder import running_pid
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.table_report import IN_FORCE, TableReport, report_tables, stored_jobs
from kron.apps.plural import plural
from kron.language.boot_form import NEXT_BOOT, is_boot
from kron.rules.run import Run
from kron.rules.run_state import RUNNING, State
from kron.rules.state import ScheduleState
from kron.rules.upcoming import upcoming
from kron.timing.zone import rfc3339_ms

_IN_PROGRESS = RUNNING | {State.LAUNCHING}


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the state of a daemon.

    Returns:
        0 if the daemon runs and uses all tables as they are; else 1.
    """
    place = read_place(args)
    pid, states = running_pid(place.state), stored_jobs(place)
    tables = report_tables(place, states)
    running = [each for state in states for each in state.open_runs if each.state in _IN_PROGRESS]
    next_runs = _next_runs(states, now(args) * 1000, args.count)
    if args.output == "json":
        screen.json(_record(place, pid, tables, states, running, next_runs))
    else:
        _print(screen, place, pid, tables, states, running, next_runs)
    return int(pid is None or any(table.state != IN_FORCE for table in tables))


def _next_runs(states: Sequence[ScheduleState], at: int, count: int) -> list[tuple[str, str]]:
    """Return when the next runs are due, and their identities, one per job. Those of the next boot are the last."""
    active_states = [state for state in states if not state.is_inactive]
    due_runs = ((due.at, state.identity) for state in active_states for due in upcoming(state, at, 1))
    timed_runs = [(rfc3339_ms(due_at), identity) for due_at, identity in nsmallest(count, due_runs)]
    boot_runs = [(NEXT_BOOT, state.identity) for state in active_states if is_boot(state.job.schedule)]
    return [*timed_runs, *boot_runs][:count]


def _print(
    screen: Screen,
    place: Place,
    pid: int | None,
    tables: Sequence[TableReport],
    states: Sequence[ScheduleState],
    running: Sequence[Run],
    next_runs: Sequence[tuple[str, str]],
) -> None:
    paused = sum(state.paused for state in states)
    others = [f", {table.name} {table.state}" for table in tables if table.state != IN_FORCE]
    shadow = "; shadow mode: it records runs and starts nothing" if place.shadow else ""
    screen.line(f"krond:   {'not running' if pid is None else f'running, process {pid}'}{shadow}")
    screen.line(f"tables:  {plural(len(tables), 'table')} in {place.config}{''.join(others[:10])}")
    screen.line(f"jobs:    {plural(len(states), 'job')} in force, {paused:,} paused")
    screen.line(f"running: {plural(len(running), 'command')}")
    for run in running:
        started = "" if run.started is None else f" since {rfc3339_ms(run.started)}"
        screen.line(f"         {place.short(run.identity)}{started}")
    if next_runs:
        screen.line()
        screen.table(["NEXT RUN", "JOB"], [[at, place.short(name)] for at, name in next_runs])


def _record(
    place: Place,
    pid: int | None,
    tables: Sequence[TableReport],
    states: Sequence[ScheduleState],
    running: Sequence[Run],
    next_runs: Sequence[tuple[str, str]],
) -> dict[str, object]:
    return {
        "pid": pid,
        "shadow": place.shadow,
        "config": str(place.config),
        "state": str(place.state),
        "tables": {table.name: table.state for table in tables},
        "jobs": len(states),
        "paused": sum(state.paused for state in states),
        "running": [run_record(run) for run in running],
        "next": [{"job": place.short(name), "at": at} for at, name in next_runs],
    }
