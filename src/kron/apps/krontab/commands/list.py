"""`krontab list`: list the tables with their states, or print one of them."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.host.place import Place
from kron.apps.host.state_folder import running_pid
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.table_report import REFUSED, TableReport, report_tables, stored_jobs
from kron.apps.krontab.table_writer import read_content
from kron.apps.plural import plural
from kron.errors import KronError, LanguageError, NotFound, did_you_mean


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the tables with their states and problems; with a name, the text of that table and its problems."""
    place = read_place(args)
    reports = report_tables(place, stored_jobs(place))
    if args.table is not None:
        return _print_table(args, screen, place, reports)
    if args.output == "json":
        screen.json([_record(report) for report in reports])
        return 0
    screen.table(["TABLE", "STATE", "JOBS", "IN FORCE"], [_row(report) for report in reports])
    for report in reports:
        _print_problems(report, screen)
    if running_pid(place.state) is None:
        screen.note("krond is not running: no job runs")
    return 0


def _print_table(args: argparse.Namespace, screen: Screen, place: Place, reports: list[TableReport]) -> int:
    report = next((each for each in reports if each.name == args.table), None)
    content = read_content(place, args.table) if report else None
    if report is None or content is None:
        names = [each.name for each in reports]
        hint = did_you_mean(args.table, names, f"the tables: {', '.join(names[:10]) or 'none'}")
        raise NotFound("NOT_FOUND", f"{place.config} has no table {args.table!r}", hint=hint)
    if args.output == "json":
        screen.json({**_record(report), "text": content.decode(errors="replace")})
        return 0
    for line in content.decode(errors="replace").splitlines():
        screen.line(line)
    _print_problems(report, screen)
    return 0


def _row(report: TableReport) -> list[str]:
    return [report.name, report.state, str(report.jobs), str(report.in_force)]


def _print_problems(report: TableReport, screen: Screen) -> None:
    for problem in report.problems:
        screen.error(problem)
    if report.state == REFUSED:
        jobs = plural(report.in_force, "job")
        screen.note(f"table {report.name} is refused; {jobs} of its last valid version in force")


def _record(report: TableReport) -> dict[str, object]:
    return {
        "table": report.name,
        "path": report.path,
        "state": report.state,
        "jobs": report.jobs,
        "in_force": report.in_force,
        "problems": [_problem(problem) for problem in report.problems],
    }


def _problem(problem: KronError) -> dict[str, object]:
    place = problem.place.label if isinstance(problem, LanguageError) else None
    return {"code": problem.code, "message": problem.message, "place": place, "hint": problem.hint or None}
