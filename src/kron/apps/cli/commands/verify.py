"""`kron verify`: recompute recorded decisions from their own text."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import MAX_FILE_BYTES, read_text
from kron.errors import InvalidInput
from kron.language.record import Difference, verify


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Verify that each recorded decision equals the decision that its text gives here. Return 1 if one differs."""
    text = read_text(args.path) if args.path else sys.stdin.read(MAX_FILE_BYTES)
    results = [(recorded, verify(recorded)) for recorded in _decisions(text)]
    if args.output == "json":
        screen.json([_json(recorded, differences) for recorded, differences in results])
    else:
        for recorded, differences in results:
            for line in _lines(recorded, differences):
                screen.line(line)
    wrong_count = sum(bool(differences) for _, differences in results)
    screen.note(f"{len(results) - wrong_count} of {len(results)} decisions are correct")
    return int(wrong_count > 0)


def _decisions(text: str) -> list[dict[str, Any]]:
    """Parse one decision, a list of decisions, or one decision per line."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise _not_json("the JSON is nested too deeply") from None
    except ValueError:
        try:
            value = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError) as error:
            raise _not_json(str(error)) from None
    values = [_decision_in(entry) for entry in (value if isinstance(value, list) else [value])]
    values = [entry for entry in values if entry is not None]
    if not values:
        raise _not_json("the input is empty")
    return values


def _decision_in(value: Any) -> Any:
    """Return the decision inside a log line or a `kron why` report; None for a log line without a decision."""
    if isinstance(value, dict) and ("decision" in value or "event" in value):
        return value.get("decision")
    return value


def _not_json(reason: str) -> InvalidInput:
    hint = "use the output of kron next --output json, or one decision per line"
    return InvalidInput("NOT_A_DECISION", f"not a recorded decision: {reason}", hint=hint)


def _lines(recorded: dict[str, Any], differences: list[Difference]) -> list[str]:
    name = f"{recorded['identity']} {recorded['period_id']}"
    if not differences:
        return [f"ok     {name} -> {recorded.get('chosen_time') or 'unschedulable'}"]
    results = [d for d in differences if d.field not in ("tz", "tz_fingerprint")]
    lines = [f"WRONG  {name}", *(f"       {d.field}: recorded {d.recorded}, computed {d.computed}" for d in results)]
    return lines if results == differences else [*lines, f"       {_tz_text(recorded, differences)}"]


def _tz_text(recorded: dict[str, Any], differences: list[Difference]) -> str:
    """Return in what the tz database of a record differs from the one here."""
    for difference in differences:
        if difference.field == "tz":
            return f"another tz database ({difference.recorded} there, {difference.computed} here)"
    return f"another build of tz database {recorded['tz']}"


def _json(recorded: dict[str, Any], differences: list[Difference]) -> dict[str, Any]:
    return {
        "identity": recorded["identity"],
        "period_id": recorded["period_id"],
        "ok": not differences,
        "differences": [{"field": d.field, "recorded": d.recorded, "computed": d.computed} for d in differences],
    }
