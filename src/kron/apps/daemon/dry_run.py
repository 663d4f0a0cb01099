"""Dry run: check the tables and show the next run of each job. It starts and stores nothing."""

from __future__ import annotations

from collections.abc import Iterable

from kron.apps.cli.console import Screen
from kron.apps.host.spool import SpoolFolder
from kron.apps.host.tables import Table, TableFolder
from kron.apps.plural import plural
from kron.engine.clock import SystemClock
from kron.language.boot_form import NEXT_BOOT, is_boot
from kron.timing.job import Job
from kron.timing.upcoming import time_of
from kron.timing.upcoming_runs import upcoming_runs
from kron.timing.zone import rfc3339


def dry_run(folders: Iterable[TableFolder], screen: Screen) -> int:
    """Print the jobs of the tables, and the problems. Returns 1 if a table would not be used."""
    scans, now = [(folder, folder.scan()) for folder in folders if _is_wanted(folder)], int(SystemClock().now())
    tables = [table for _, scan in scans for table in scan.tables.values()]
    rows = [[_next_run(job, now), job.name, table.path] for table in tables for job in table.jobs]
    if rows:
        screen.table(["NEXT RUN", "JOB", "TABLE"], sorted(rows))
    for table in tables:
        _print_problems(table, screen)
    for folder, name in [(folder, name) for folder, scan in scans for name in scan.ignored]:
        screen.note(f"{folder.path / name} is not a table: its name has other characters than A-Z a-z 0-9 _ -")
    refused = [table for table in tables if table.problems]
    counts = f"{plural(len(tables), 'table')}, {plural(len(rows), 'job')}"
    screen.note(f"{counts}, {plural(len(refused), 'table')} refused")
    return int(bool(refused))


def _is_wanted(folder: TableFolder) -> bool:
    """Return whether a folder is read: the daemon creates a spool that does not exist."""
    return not isinstance(folder, SpoolFolder) or folder.path.exists()


def _next_run(job: Job, now: int) -> str:
    if is_boot(job.schedule):
        return NEXT_BOOT
    runs = upcoming_runs(job.schedule, job.identity, now, 1).runs
    return rfc3339(time_of(runs[0].decision)) if runs else "never"


def _print_problems(table: Table, screen: Screen) -> None:
    for problem in table.problems:
        screen.error(problem)
