"""Commands for the jobs of a store without a service, and their options."""

from __future__ import annotations

import argparse
from typing import Any

from kron.apps.cli.options import add_record_format, add_shared_store, count, define
from kron.rules.outcome import Outcome
from kron.rules.run_state import State

DEFAULT_JOBS, DEFAULT_RUNS = 100, 20


def _jobs(commands: Any) -> None:
    command = define(
        commands,
        "jobs",
        "list the jobs of a store",
        "jobs --store sqlite:jobs.db",
        "jobs --store postgresql://kron@db/kron --label customer=42 --paused -o json",
    )
    _store(command)
    command.add_argument("--prefix", default="", help="only jobs whose names start with this prefix")
    label_help = "only jobs with this label; several: with all of them"
    command.add_argument("--label", action="append", default=[], metavar="KEY=VALUE", help=label_help)
    command.add_argument("--paused", action="store_true", default=None, help="only paused jobs")
    _limit(command, "jobs", DEFAULT_JOBS)


def _runs(commands: Any) -> None:
    command = define(
        commands,
        "runs",
        "show the recent runs of a job, newest first",
        "runs report --store sqlite:jobs.db",
        "runs report --store sqlite:jobs.db --state failed --limit 5",
    )
    _job(command)
    _limit(command, "runs", DEFAULT_RUNS)
    state_help = "only runs in this state, such as failed"
    command.add_argument("--state", choices=[*map(str, State)], metavar="STATE", help=state_help)
    command.add_argument("--outcome", choices=[*map(str, Outcome)], help="only runs with this outcome")


def _pause(commands: Any) -> None:
    command = define(
        commands,
        "pause",
        "pause a job in every process",
        "pause report --store sqlite:jobs.db --until 2026-12-24T00:00:00Z",
    )
    _job(command)
    _note(command)
    command.add_argument("--until", metavar="INSTANT", help="end of the pause (default: until resumed)")


def _resume(commands: Any) -> None:
    command = define(commands, "resume", "resume a job", "resume report --store sqlite:jobs.db")
    _job(command)
    _note(command)


def _trigger(commands: Any) -> None:
    command = define(
        commands,
        "trigger",
        "run a job now, in addition to its schedule",
        "trigger report --store sqlite:jobs.db --request release-42",
    )
    _job(command)
    command.add_argument("--request", metavar="ID", help="idempotency key: a repeated request starts no new run")
    _note(command, "request")


def _delete(commands: Any) -> None:
    command = define(
        commands,
        "delete",
        "delete a job; its history is kept",
        'delete reminder-42 --store sqlite:jobs.db --note "the customer left"',
    )
    _job(command)
    _note(command)


def _job(command: argparse.ArgumentParser) -> None:
    command.add_argument("job", metavar="JOB", help="name of the job")
    _store(command)


def _store(command: argparse.ArgumentParser) -> None:
    add_shared_store(command)
    add_record_format(command)


def _note(command: argparse.ArgumentParser, noun: str = "change") -> None:
    command.add_argument("--note", default="", help=f"reason, stored with the {noun}")


def _limit(command: argparse.ArgumentParser, noun: str, default: int) -> None:
    help_text = f"maximum number of {noun}, 1 to 10000 (default {default})"
    command.add_argument("--limit", type=count, default=default, metavar="N", help=help_text)


JOB_COMMANDS = (_jobs, _runs, _pause, _resume, _trigger, _delete)
