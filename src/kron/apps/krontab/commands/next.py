"""`krontab next`: show the upcoming runs of a job, or of all jobs in force."""

from __future__ import annotations

import argparse
from heapq import nsmallest

from kron.apps.cli.commands.next import show_runs
from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import Subject, now
from kron.apps.host.place import Place
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.records import ask_records, find_job, jobs_in_force
from kron.language.boot_form import NEXT_BOOT, is_boot
from kron.language.source import shown_source
from kron.rules.state import ScheduleState
from kron.timing.upcoming import time_of
from kron.timing.upcoming_runs import upcoming_runs


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Show the next runs, in the order in which they run. Paused jobs have none."""
    place = read_place(args)
    identity = None if args.job is None else find_job(place, args.job)
    states = ask_records(place, lambda registrar: jobs_in_force(registrar, place))
    selected_states = [state for state in states if identity in (None, state.identity)]
    for state in selected_states:
        if state.is_inactive:
            screen.note(f"{place.short(state.identity)} is paused: its runs are left out")
    active_states = [state for state in selected_states if not state.is_inactive]
    for state in active_states:
        if is_boot(state.job.schedule):
            screen.note(f"{place.short(state.identity)}: {NEXT_BOOT}")
    subjects = [_subject(state, place) for state in active_states if not is_boot(state.job.schedule)]
    return show_runs(_earliest(subjects, now(args), args.count), args, screen, named=True) if subjects else 0


def _earliest(subjects: list[Subject], start: int, count: int) -> list[Subject]:
    """Return the jobs that can have one of the next runs: those whose first runs are the earliest.

    So the runs of thousands of jobs need not be computed. Jobs without a run stay, because their end is shown.
    """
    if len(subjects) <= count:
        return subjects
    searches = [(upcoming_runs(each.schedule, each.identity, start, 1).runs, each) for each in subjects]
    first_runs = [(time_of(runs[0].decision), each.name, each) for runs, each in searches if runs]
    earliest = nsmallest(count, first_runs, key=lambda first: first[:2])
    return [*(each for runs, each in searches if not runs), *(each for _, _, each in earliest)]


def _subject(state: ScheduleState, place: Place) -> Subject:
    source = shown_source(state.job)
    return Subject(source.text, state.job.schedule, state.identity, place.short(state.identity), source.dialect)
