"""`krontab next`: show the upcoming runs of a job, or of all jobs in force."""

from __future__ import annotations

import argparse

from kron.apps.cli.commands.next import show_runs
from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import Subject
from kron.apps.daemon.options import Options
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.records import ask_records, find_job, jobs_in_force, short_name
from kron.language.boot_form import NEXT_BOOT, is_boot
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
            screen.note(f"{short_name(state.identity, place)} is paused: its runs are left out")
    active_states = [state for state in selected_states if not state.is_inactive]
    for state in active_states:
        if is_boot(state.job.schedule):
            screen.note(f"{short_name(state.identity, place)}: {NEXT_BOOT}")
    subjects = [_subject(state, place) for state in active_states if not is_boot(state.job.schedule)]
    return show_runs(subjects, args, screen, named=True) if subjects else 0


def _subject(state: ScheduleState, place: Options) -> Subject:
    source = shown_source(state.job)
    return Subject(source.text, state.job.schedule, state.identity, short_name(state.identity, place), source.dialect)
