"""Table report: which tables of the folder the daemon uses, and why it refuses others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kron.apps.host.place import Place
from kron.apps.host.shadow_state import check_jobs
from kron.apps.host.tables import Table
from kron.apps.krontab.records import ask_records, has_records, jobs_in_force
from kron.errors import KronError
from kron.rules.state import ScheduleState
from kron.timing.job import Job

IN_FORCE, REFUSED, NOT_READ, REMOVED = "in force", "refused", "not read yet", "removed"


@dataclass(frozen=True, slots=True)
class TableReport:
    """A table: its state, its jobs in the file, those in force, and the problems of a refused table."""

    name: str
    path: str
    state: str
    jobs: int
    in_force: int
    problems: tuple[KronError, ...] = ()


def stored_jobs(place: Place) -> list[ScheduleState]:
    """Return the jobs in force; none if no daemon has run yet.

    Raises:
        InvalidSetting: They belong to a shadow daemon, and another one is meant, or the other way round.
    """
    states = ask_records(place, lambda registrar: jobs_in_force(registrar, place)) if has_records(place) else []
    check_jobs(states, place.state, shadow=place.shadow)
    return states


def report_tables(place: Place, states: Sequence[ScheduleState]) -> list[TableReport]:
    """Return the tables of the folders, and those that were removed and are still in force.

    Raises:
        KronError: A folder cannot be read.
    """
    tables = [table for folder in place.folders for table in folder.scan().tables.values()]
    jobs = defaultdict[str, dict[str, Job]](dict)
    for state in states:
        jobs[state.identity.rpartition(":")[0]][state.identity] = state.job
    reports = [_report(place, table, jobs.pop(table.path, {})) for table in tables]
    reports += [TableReport(place.short(path), path, REMOVED, 0, len(left)) for path, left in jobs.items()]
    return sorted(reports, key=lambda report: report.name)


def _report(place: Place, table: Table, in_force: dict[str, Job]) -> TableReport:
    state = REFUSED if table.problems else IN_FORCE if _is_in_force(table, in_force) else NOT_READ
    return TableReport(place.short(table.path), table.path, state, len(table.jobs), len(in_force), table.problems)


def _is_in_force(table: Table, in_force: dict[str, Job]) -> bool:
    return len(table.jobs) == len(in_force) and all(
        job.identity in in_force and in_force[job.identity].same_definition(job) for job in table.jobs
    )
