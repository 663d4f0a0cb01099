"""`krontab next`: show the upcoming runs of a job, or of all jobs in force."""

from __future__ import annotations

import argparse

from kron.apps.cli.commands.next import show_runs
from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import Subject
from kron.apps.host.place import Place
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.records import ask_records, find_job, jobs_in_force
from kron.language.source import shown_source
from kron.rules.state import ScheduleState


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Show the next runs, in the order in which they run. Paused jobs have none."""
    place = read_place(args)
    identity = None if args.job is None else find_job(place, args.job)
    states = ask_records(place, lambda registrar: jobs_in_force(registrar, place))
    selected_states = [state for state in states if identity in (None, state.identity)]
    for state in selected_states:
        if state.is_inactive:
            screen.note(f"{place.short(state.identity)} is paused: its runs are left out")
    subjects = [_subject(state, place) for state in selected_states if not state.is_inactive]
    return show_runs(subjects, args, screen, named=True) if subjects else 0


def _subject(state: ScheduleState, place: Place) -> Subject:
    source = shown_source(state.job)
    return Subject(source.text, state.job.schedule, state.identity, place.short(state.identity), source.dialect)
