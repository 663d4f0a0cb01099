"""`kron next`: show the upcoming runs of a schedule, or of all jobs of a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import Subject, now, subjects, with_identity
from kron.apps.ics import MAX_EVENTS, CalendarEvent, write_calendar
from kron.apps.search_end import end_text, no_run_error, unschedulable_text
from kron.language.record import to_record
from kron.timing.decision import Decision
from kron.timing.key import key_of
from kron.timing.upcoming import time_of
from kron.timing.upcoming_runs import Unschedulable, UpcomingRuns, upcoming_runs
from kron.timing.zone import EARLIEST, rfc3339


class Row(NamedTuple):
    """A run, its schedule, and the unschedulable periods of that schedule since its previous run."""

    decision: Decision
    unschedulable: Unschedulable
    subject: Subject


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Show the next runs, in the order in which they run."""
    selected_subjects = [*map(with_identity, subjects(args, screen))]
    return show_runs(selected_subjects, args, screen, named=args.file is not None)


def show_runs(selected: Sequence[Subject], args: argparse.Namespace, screen: Screen, *, named: bool) -> int:
    """Show the next runs of the subjects. With `named`, a column has the names of their jobs."""
    start = now(args)
    searches = [(each, upcoming_runs(each.schedule, each.identity, start, args.count)) for each in selected]
    rows = [Row(*upcoming, subject) for subject, search in searches for upcoming in search.runs]
    rows.sort(key=lambda row: (time_of(row.decision), row.subject.name))
    del rows[args.count :]
    ends = [search.end for _, search in searches if search.end]
    if not rows:
        raise no_run_error(ends[0], start)
    if args.output == "json":
        screen.json([_record(row) for row in rows])
    elif args.output == "ics":
        _write_calendar(rows, start, screen)
    else:
        screen.table(*_table(rows, named=named))
    if start < EARLIEST:
        screen.note(f"periods before {rfc3339(EARLIEST)} are left out: the calendar of Kron begins there")
    _note_ends(searches, rows, start, args.count, screen)
    return 0


def _write_calendar(rows: list[Row], now: int, screen: Screen) -> None:
    """Print the runs as a calendar; the first 1,000 of them."""
    screen.out.write(write_calendar(map(_event, rows[:MAX_EVENTS]), now))
    if len(rows) > MAX_EVENTS:
        screen.note(f"the calendar has the first {MAX_EVENTS} of {len(rows)} runs")


def _event(row: Row) -> CalendarEvent:
    decision = row.decision
    key = key_of(decision.identity, decision.period.nominal)
    return CalendarEvent(time_of(decision), key, row.subject.name or row.subject.text)


def _note_ends(
    searches: list[tuple[Subject, UpcomingRuns]], rows: list[Row], start: int, count: int, screen: Screen
) -> None:
    """Say which schedules have no further run, where the list would otherwise seem to be complete."""
    last_time = time_of(rows[-1].decision)
    for subject, search in searches:
        if search.end and (not search.runs or len(rows) < count or search.end.upto < last_time):
            name = f"{subject.name}: " if subject.name else ""
            screen.note(name + end_text(search.end, start, further=bool(search.runs)))


def _record(row: Row) -> dict[str, object]:
    return {**to_record(row.decision), "unschedulable_before": row.unschedulable.periods}


def _table(rows: list[Row], *, named: bool) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows, without the columns that would have the same value in every row."""
    decisions = [row.decision for row in rows]
    zones = {row.subject.schedule.zone.name for row in rows}
    spread = any(decision.chosen != decision.period.nominal for decision in decisions)
    columns = {
        f"RUNS AT ({zones.pop()})" if len(zones) == 1 else "RUNS AT": [_wall(d, time_of(d)) for d in decisions],
        "UTC": [rfc3339(time_of(d)) for d in decisions],
    }
    if spread:
        columns["NOMINAL"] = [_wall(d, d.period.nominal) for d in decisions]
    if zones:
        columns["ZONE"] = [row.subject.schedule.zone.name for row in rows]
    if named:
        columns["JOB"] = [row.subject.name for row in rows]
    lines = list[list[str]]()
    for row, cells in zip(rows, zip(*columns.values(), strict=True), strict=True):
        lines += [_unschedulable_cells(row, named=named), list(cells)] if row.unschedulable.periods else [list(cells)]
    return list(columns), lines


def _unschedulable_cells(row: Row, *, named: bool) -> list[str]:
    name = f"{row.subject.name}: " if named else ""
    return ["unschedulable", name + unschedulable_text(row.unschedulable)]


def _wall(decision: Decision, t: int) -> str:
    return decision.schedule.zone.wall(t).text
