"""`kron next`: show the upcoming runs of a schedule, or of all jobs of a file."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import Subject, now, subjects, with_identity
from kron.language.record import to_record
from kron.timing.decision import Decision
from kron.timing.upcoming import time_of
from kron.timing.zone import rfc3339

Run = tuple[Decision, Subject]


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Show the next decisions, in the order in which they run."""
    selected_subjects = [with_identity(subject) for subject in subjects(args, screen)]
    start = now(args)
    runs = [(decision, subject) for subject in selected_subjects for decision in subject.upcoming(start, args.count)]
    runs.sort(key=lambda run: (time_of(run[0]), run[1].name))
    del runs[args.count :]
    if args.output == "json":
        screen.json([to_record(decision) for decision, _ in runs])
    else:
        screen.table(*_table(runs, named=args.file is not None))
    return 0


def _table(runs: list[Run], *, named: bool) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows, without the columns that would have the same value in every row."""
    zones = {subject.schedule.zone.name for _, subject in runs}
    spread = any(decision.chosen != decision.period.nominal for decision, _ in runs)
    columns = {
        f"RUNS AT ({zones.pop()})" if len(zones) == 1 else "RUNS AT": [_wall(decision) for decision, _ in runs],
        "UTC": ["" if decision.chosen is None else rfc3339(decision.chosen) for decision, _ in runs],
    }
    if spread:
        columns["NOMINAL"] = [d.schedule.zone.wall(d.period.nominal).text for d, _ in runs]
    if zones:
        columns["ZONE"] = [subject.schedule.zone.name for _, subject in runs]
    if named:
        columns["JOB"] = [subject.name for _, subject in runs]
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]


def _wall(decision: Decision) -> str:
    return "unschedulable" if decision.chosen is None else decision.schedule.zone.wall(decision.chosen).text
