"""`kron schedules apply`: define the schedules of a file, or preview the runs that would be added, moved and lost."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from dataclasses import dataclass
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import read_text
from kron.client import Client
from kron.engine.clock import SystemClock
from kron.errors import InvalidInput, KronError
from kron.timing.zone import rfc3339

MAX_SHOWN_LINES = 10  # maximum number of lines shown of each kind
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Difference:
    """Effect of a new definition on the upcoming runs."""

    added: list[str]
    moved: list[tuple[str, str]]
    lost: list[str]
    upto: str  # end of the compared range: as far as both lists of runs reach
    changes: tuple[str, ...] = ()  # other changed fields, such as `target: a -> b`

    @property
    def none(self) -> bool:
        """Whether the definition changes neither runs nor fields."""
        return not (self.added or self.moved or self.lost or self.changes)


def apply(args: argparse.Namespace, screen: Screen, client: Client) -> int:
    """Define the schedules of the file or, with `--dry-run`, compare them with the stored ones."""
    definitions = manifest(args.file)
    if args.dry_run:
        return _compare(args, screen, client, definitions)
    for name, definition in definitions.items():
        schedule = client.apply(name, definition)
        if args.output == "json":
            screen.json(schedule)
        else:
            screen.line(
                name if args.output == "name" else f"{name}: revision {schedule['revision']}, {schedule['summary']}"
            )
        for warning in schedule["warnings"]:
            screen.note(f"{name}: warning: {warning}")
    return 0


def manifest(path: str) -> dict[str, dict[str, Any]]:
    """Return the definitions of a file by id: a list of objects with an `id`, or `[schedules.ID]` tables."""
    text = sys.stdin.read() if path == "-" else read_text(path)
    try:
        loaded = _load(text, path)
    except ValueError as error:
        raise InvalidInput("BAD_FILE", f"{path} cannot be read: {error}", hint="use valid TOML or JSON") from None
    entries = loaded.get("schedules", loaded) if isinstance(loaded, dict) else loaded
    if isinstance(entries, dict):
        entries = [{"id": name, **entry} if isinstance(entry, dict) else entry for name, entry in entries.items()]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and entry.get("id") for entry in entries):
        hint = 'add a table [schedules.ID] for each schedule, or a list of objects with an "id"'
        raise InvalidInput("BAD_FILE", f"{path} contains no schedules", hint=hint)
    return {str(entry["id"]): {k: v for k, v in entry.items() if k != "id"} for entry in entries}


def _load(text: str, path: str) -> Any:
    return tomllib.loads(text) if path.endswith(".toml") else json.loads(text)


def _compare(args: argparse.Namespace, screen: Screen, client: Client, definitions: dict[str, dict[str, Any]]) -> int:
    upto = rfc3339(int(SystemClock().now()) + args.days * DAY)
    differences, errors = dict[str, Difference](), dict[str, KronError]()
    for name, definition in definitions.items():
        try:
            differences[name] = _difference_of(client, name, definition, upto)
        except KronError as refusal:  # the other definitions are still compared
            errors[name] = refusal
    _show(args, screen, differences)
    for name, error in errors.items():
        screen.note(f"{name}: error[{error.code}]: {error.message}")
    return int(bool(errors))


def _show(args: argparse.Namespace, screen: Screen, differences: dict[str, Difference]) -> None:
    if args.output == "json":
        screen.json({name: _json(difference) for name, difference in differences.items()})
        return
    for name, difference in differences.items():
        if args.output == "name":
            if not difference.none:
                screen.line(name)
            continue
        counts = f"{len(difference.added)} added, {len(difference.moved)} moved, {len(difference.lost)} lost"
        same = not (difference.added or difference.moved or difference.lost)
        screen.line(f"{name}: " + ("no run changes" if same else counts) + f" until {difference.upto}")
        for change in difference.changes:
            screen.line(f"  * {change}")
        for sign, lines in _lines(difference).items():
            for line in lines[:MAX_SHOWN_LINES]:
                screen.line(f"  {sign} {line}")
            if len(lines) > MAX_SHOWN_LINES:
                screen.line(f"  {sign} and {len(lines) - MAX_SHOWN_LINES} more")


def _difference_of(client: Client, name: str, definition: dict[str, Any], upto: str) -> Difference:
    comparison = client.compare(name, definition, until=upto)
    added, lost = ([run["at"] for run in runs] for runs in (comparison["added"], comparison["lost"]))
    moved = [(run["before"], run["after"]) for run in comparison["moved"]]
    return Difference(added, moved, lost, comparison["until"], tuple(comparison["changes"]))


def _lines(difference: Difference) -> dict[str, list[str]]:
    return {"+": difference.added, "~": [f"{old} -> {new}" for old, new in difference.moved], "-": difference.lost}


def _json(difference: Difference) -> dict[str, Any]:
    return {
        "added": difference.added,
        "moved": [list(pair) for pair in difference.moved],
        "lost": difference.lost,
        "changes": list(difference.changes),
        "upto": difference.upto,
    }
