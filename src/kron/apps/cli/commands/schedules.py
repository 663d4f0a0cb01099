"""`kron schedules`: manage the schedules of a service from the command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from kron.apps.cli.commands.apply import apply
from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import read_text
from kron.apps.cli.records import print_result, print_runs, print_schedules, print_trigger
from kron.client import Client, DeadLetter
from kron.timing.labels import selector_of

Verb = Callable[[argparse.Namespace, Screen, Client], int]


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Send the request of the verb to the service and print the response."""
    return _VERBS[args.verb](args, screen, client(args))


def client(args: argparse.Namespace) -> Client:
    """Return a client for the service of the flags or the environment.

    The token cannot be given as a flag, because other users of the machine could see it in the process list.
    """
    token = read_text(args.token_file).strip() if args.token_file else os.environ.get("KRON_TOKEN", "")
    return Client(args.url or os.environ.get("KRON_URL", "http://127.0.0.1:8080"), token)


def _list(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    labels = dict(selector_of(label).split("=", 1) for label in args.label)
    return print_schedules(args, screen, list(client.schedules(args.prefix, args.paused, labels=labels)))


def _get(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    schedule = client.get(args.id)
    if args.output != "table":
        return print_result(args, screen, schedule, [schedule["id"]])
    for name, value in schedule.items():
        repeated = name == "canonical" and value == schedule["schedule"]
        if value not in (None, "", []) and not repeated:
            screen.line(f"{name.replace('_', ' '):<15} {value}")
    return 0


def _delete(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    client.delete(args.id, note=args.note)
    return print_result(args, screen, {"id": args.id, "deleted": True}, [args.id])


def _pause(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    return print_schedules(args, screen, [client.pause(args.id, note=args.note, until=args.until)], single=True)


def _resume(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    return print_schedules(args, screen, [client.resume(args.id, note=args.note)], single=True)


def _next(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    upcoming = client.next(args.id, args.count)
    if args.output != "table":
        return print_result(args, screen, upcoming, [run["at"] for run in upcoming["runs"]])
    screen.table(("RUNS AT", "PERIOD"), [(run["at"], run["period"]) for run in upcoming["runs"]])
    if upcoming.get("reason"):
        screen.note(f"no upcoming run: {upcoming['reason']}")
    return 0


def _why(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    report = client.why(args.id, args.at, run=args.run_key)
    return print_result(args, screen, report, report["explanation"])


def _runs(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    return print_runs(args, screen, list(client.runs(args.id, args.count)))


def _trigger(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    return print_trigger(args, screen, client.trigger(args.id, key=args.key))


def _backfill(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    runs = client.backfill(args.id, args.first, args.last, key=args.key, overlap=args.overlap)
    return print_runs(args, screen, runs)


def _dead_letters(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    letters = list(client.dead_letters(args.prefix, args.count))
    if args.output != "table":
        return print_result(args, screen, letters, [letter["key"] for letter in letters])
    rows = [
        (
            letter["schedule_id"],
            letter["period"],
            letter["updated_at"],
            str(letter["attempt"]),
            _redrive_text(letter),
            letter["key"],
        )
        for letter in letters
    ]
    screen.table(("ID", "PERIOD", "GIVEN UP", "ATTEMPTS", "REDRIVEN", "KEY"), rows)
    return 0


def _redrive(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    return print_runs(args, screen, [client.redrive(key, overlap=args.overlap) for key in args.keys])


def _redrive_text(letter: DeadLetter) -> str:
    return "no" if letter["redriven_by"] is None else letter["redriven_by"][:12]


_VERBS: dict[str, Verb] = {
    "list": _list,
    "get": _get,
    "apply": apply,
    "delete": _delete,
    "pause": _pause,
    "resume": _resume,
    "next": _next,
    "why": _why,
    "runs": _runs,
    "trigger": _trigger,
    "backfill": _backfill,
    "dead-letters": _dead_letters,
    "redrive": _redrive,
}
