"""`kron schedules apply`: define the schedules of a file, or preview the runs that would be added, moved and lost."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import read_text
from kron.client import Client, UpcomingRuns
from kron.engine.clock import SystemClock
from kron.errors import InvalidInput, KronError, NotFound
from kron.timing.zone import rfc3339

MOST = 1_000  # maximum number of runs to compare
FIELDS = ("schedule", "dialect", "timezone", "target", "name", "description", "overlap_policy", "catchup_policy")
SHOWN = 10  # maximum number of lines shown of each kind
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
    found = manifest(args.file)
    if args.dry_run:
        return _compared(args, screen, client, found)
    for name, definition in found.items():
        made = client.apply(name, definition)
        if args.output == "json":
            screen.json(made)
        else:
            screen.line(name if args.output == "name" else f"{name}: revision {made['revision']}, {made['summary']}")
        for warning in made["warnings"]:
            screen.note(f"{name}: warning: {warning}")
    return 0


def manifest(path: str) -> dict[str, dict[str, Any]]:
    """Return the definitions of a file by id: a list of objects with an `id`, or `[schedules.ID]` tables."""
    text = sys.stdin.read() if path == "-" else read_text(path)
    try:
        loaded = _load(text, path)
    except ValueError as error:
        raise InvalidInput("BAD_FILE", f"{path} cannot be read: {error}", hint="use valid TOML or JSON") from None
    named = loaded.get("schedules", loaded) if isinstance(loaded, dict) else loaded
    if isinstance(named, dict):
        named = [{"id": name, **each} if isinstance(each, dict) else each for name, each in named.items()]
    if not isinstance(named, list) or not all(isinstance(each, dict) and each.get("id") for each in named):
        hint = 'add a table [schedules.ID] for each schedule, or a list of objects with an "id"'
        raise InvalidInput("BAD_FILE", f"{path} contains no schedules", hint=hint)
    return {str(each["id"]): {k: v for k, v in each.items() if k != "id"} for each in named}


def _load(text: str, path: str) -> Any:
    return tomllib.loads(text) if path.endswith(".toml") else json.loads(text)


def difference(before: UpcomingRuns | None, after: UpcomingRuns | None, upto: str) -> Difference:
    """Return the differences between two lists of runs, up to `upto` or to the end of the shorter list."""
    lists = [each for each in (before, after) if each is not None]
    last = min([upto, *(each["runs"][-1]["at"] for each in lists if each["has_more"] and each["runs"])])
    old, new = (
        {fire["period"]: fire["at"] for fire in (each["runs"] if each else []) if fire["at"] <= last}
        for each in (before, after)
    )
    moved = [(old[period], new[period]) for period in new if period in old and old[period] != new[period]]
    added = [at for period, at in new.items() if period not in old]
    return Difference(added, moved, [at for period, at in old.items() if period not in new], last)


def _compared(args: argparse.Namespace, screen: Screen, client: Client, found: dict[str, dict[str, Any]]) -> int:
    upto = rfc3339(int(SystemClock().now()) + args.days * DAY)
    told, wrong = dict[str, Difference](), dict[str, KronError]()
    for name, definition in found.items():
        try:
            told[name] = _one(client, name, definition, upto)
        except KronError as refusal:  # the other definitions are still compared
            wrong[name] = refusal
    _show(args, screen, told)
    for name, error in wrong.items():
        screen.note(f"{name}: error[{error.code}]: {error.message}")
    return int(bool(wrong))


def _show(args: argparse.Namespace, screen: Screen, told: dict[str, Difference]) -> None:
    if args.output == "json":
        screen.json({name: _json(each) for name, each in told.items()})
        return
    for name, each in told.items():
        if args.output == "name":
            if not each.none:
                screen.line(name)
            continue
        counts = f"{len(each.added)} added, {len(each.moved)} moved, {len(each.lost)} lost"
        same = not (each.added or each.moved or each.lost)
        screen.line(f"{name}: " + ("no run changes" if same else counts) + f" until {each.upto}")
        for change in each.changes:
            screen.line(f"  * {change}")
        for sign, lines in _lines(each).items():
            for line in lines[:SHOWN]:
                screen.line(f"  {sign} {line}")
            if len(lines) > SHOWN:
                screen.line(f"  {sign} and {len(lines) - SHOWN} more")


def _one(client: Client, name: str, definition: dict[str, Any], upto: str) -> Difference:
    after = client.preview(name, definition, MOST, upto)
    try:
        before: UpcomingRuns | None = client.next(name, MOST, upto)
    except NotFound:
        return difference(None, after, upto)
    return replace(difference(before, after, upto), changes=_changes(client.get(name), definition))


def _changes(stored: Mapping[str, Any], definition: dict[str, Any]) -> tuple[str, ...]:
    """Return the changed fields of a new definition that the list of runs does not show."""
    named = [field for field in FIELDS if field in definition and field in stored]
    return tuple(f"{f}: {stored[f]} -> {definition[f]}" for f in named if stored[f] != definition[f])


def _lines(each: Difference) -> dict[str, list[str]]:
    return {"+": each.added, "~": [f"{old} -> {new}" for old, new in each.moved], "-": each.lost}


def _json(each: Difference) -> dict[str, Any]:
    return {
        "added": each.added,
        "moved": [list(pair) for pair in each.moved],
        "lost": each.lost,
        "changes": list(each.changes),
        "upto": each.upto,
    }
