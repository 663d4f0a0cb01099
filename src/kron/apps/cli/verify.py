"""`kron verify`: recorded decisions, computed again from their own text."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from kron.apps.cli.screen import Screen
from kron.apps.cli.subject import LARGEST, read_text
from kron.errors import KronError
from kron.language.record import Difference, verify


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Say of each decision whether it is what the same text gives here. 1 if any is not."""
    text = read_text(args.path) if args.path else sys.stdin.read(LARGEST)
    results = [(recorded, verify(recorded)) for recorded in _decisions(text)]
    if args.format == "json":
        screen.json([_json(recorded, differences) for recorded, differences in results])
    else:
        for recorded, differences in results:
            for line in _lines(recorded, differences):
                screen.line(line)
    wrong = sum(bool(differences) for _, differences in results)
    screen.note(f"{len(results) - wrong} of {len(results)} decisions are right")
    return int(wrong > 0)


def _decisions(text: str) -> list[dict[str, Any]]:
    """One decision, a list of them, or one a line."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise _not_json("it nests too deep") from None
    except ValueError:
        try:
            value = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError) as error:
            raise _not_json(str(error)) from None
    values = [_inside(each) for each in (value if isinstance(value, list) else [value])]
    values = [each for each in values if each is not None]
    if not values:
        raise _not_json("there is nothing")
    return values


def _inside(value: Any) -> Any:
    """The decision inside a line of the log or an account of `kron why`; None for a line that has none."""
    if isinstance(value, dict) and ("decision" in value or "event" in value):
        return value.get("decision")
    return value


def _not_json(reason: str) -> KronError:
    hint = "give what kron next --format json wrote, or one decision a line"
    return KronError("NOT_A_DECISION", f"this is no recorded decision: {reason}", hint=hint)


def _lines(recorded: dict[str, Any], differences: list[Difference]) -> list[str]:
    name = f"{recorded['identity']} {recorded['period_id']}"
    if not differences:
        return [f"ok     {name} -> {recorded.get('chosen_time') or 'unschedulable'}"]
    return [f"WRONG  {name}"] + [f"       {d.field}: recorded {d.recorded}, computed {d.computed}" for d in differences]


def _json(recorded: dict[str, Any], differences: list[Difference]) -> dict[str, Any]:
    return {
        "identity": recorded["identity"],
        "period_id": recorded["period_id"],
        "ok": not differences,
        "differences": [{"field": d.field, "recorded": d.recorded, "computed": d.computed} for d in differences],
    }
