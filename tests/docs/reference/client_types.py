"""The dictionaries of the HTTP API client, written from the OpenAPI document."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import fill
from typing import Any

from kron.apps.service.app import interface
from tests.docs.page import ROOT

NAMES = {  # in the document: in the client
    "ScheduleView": "Schedule",
    "UpcomingRun": "UpcomingRun",
    "UpcomingRuns": "UpcomingRuns",
    "RunView": "Run",
    "AttemptView": "Attempt",
    "RunDetails": "RunDetails",
    "DeadLetter": "DeadLetter",
    "Why": "Why",
    "Change": "Change",
    "Upserted": "Upserted",
}
OVERVIEW_NAMES = {  # the same, of questions about many schedules and of changes that are not made
    "MovedRun": "MovedRun",
    "ScheduleComparison": "ScheduleComparison",
    "PausePlan": "PausePlan",
    "PlannedPeriod": "PlannedPeriod",
    "BackfillPlan": "BackfillPlan",
    "BulkProblem": "BulkProblem",
    "BulkResult": "BulkResult",
    "BulkPlan": "BulkPlan",
    "FindingView": "Finding",
    "PieceView": "Piece",
    "Preview": "Preview",
    "OutcomeCountView": "OutcomeCount",
    "Stats": "Stats",
    "LoadIntervalView": "LoadInterval",
    "LoadKindView": "LoadKind",
    "LoadView": "Load",
    "WorkerView": "Worker",
    "NextRunView": "NextRun",
    "NextRuns": "NextRuns",
    "LateSchedule": "LateSchedule",
    "TroubledSchedule": "TroubledSchedule",
    "PausedSchedule": "PausedSchedule",
    "AttentionView": "Attention",
    "ActivityView": "Activity",
    "Me": "Me",
    "GapView": "GapRecord",
    "PeriodView": "Period",
}
ALL_NAMES = NAMES | OVERVIEW_NAMES
INPUTS = ("WebhookOptions", "Definition")
PATH = ROOT / "src" / "kron" / "client" / "results.py"
OVERVIEW_PATH = ROOT / "src" / "kron" / "client" / "overview_results.py"
INPUT_PATH = ROOT / "src" / "kron" / "client" / "definition.py"
HEADER = '''"""{title} of the HTTP API clients: dictionaries with these keys.

`make docs` writes this file from the OpenAPI document of the service.
"""

from __future__ import annotations

from typing import {imports}
'''
WIDTH = 120


def results() -> str:
    """The source of `kron.client.results`."""
    schemas = interface()["components"]["schemas"]
    header = HEADER.format(title="Results", imports="Any, TypedDict") + "\nJson = dict[str, Any]\n"
    classes = [_class(name, schemas[source]) for source, name in NAMES.items()]
    return _formatted("\n\n".join([header, *classes]))


def overview_results() -> str:
    """The source of `kron.client.overview_results`."""
    schemas = interface()["components"]["schemas"]
    header = HEADER.format(title="Results of overviews and plans", imports="Any, TypedDict")
    classes = [_class(name, schemas[source]) for source, name in OVERVIEW_NAMES.items()]
    text = "\n\n".join([header, *classes])
    used = sorted(name for name in NAMES.values() if re.search(rf": .*\b{name}\b", text))
    return _formatted(
        text.replace("TypedDict\n", f"TypedDict\n\nfrom kron.client.results import {', '.join(used)}\n", 1)
    )


def definition() -> str:
    """The source of `kron.client.definition`."""
    schemas = interface()["components"]["schemas"]
    header = HEADER.format(title="Definitions", imports="Any, Literal, Required, TypedDict")
    classes = [_class(name, schemas[name], is_input=True) for name in INPUTS]
    return _formatted("\n\n".join([header, *classes]))


def _formatted(source: str) -> str:
    command = [str(Path(sys.executable).parent / "ruff"), "format", "--config", str(ROOT / "pyproject.toml"), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def _class(name: str, schema: dict[str, Any], *, is_input: bool = False) -> str:
    required = set(schema.get("required", ()))
    order = [*schema.get("required", ()), *(key for key in schema["properties"] if key not in required)]
    lines = [f"class {name}(TypedDict{', total=False' if is_input else ''}):", _docstring(schema["description"]), ""]
    for key in order:
        kind = _type(schema["properties"][key])
        lines.append(f"    {key}: " + (f"Required[{kind}]" if is_input and key in required else kind))
    return "\n".join(lines) + "\n"


def _docstring(text: str) -> str:
    return fill(f'"""{text}"""', WIDTH, initial_indent="    ", subsequent_indent="    ")


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " | ".join(_type(each) for each in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name if name in INPUTS else ALL_NAMES.get(name, "Any")
    if "enum" in schema:
        return "Literal[" + ", ".join(f'"{value}"' for value in schema["enum"]) + "]"
    match schema.get("type"):
        case "string":
            return "str"
        case "integer":
            return "int"
        case "boolean":
            return "bool"
        case "null":
            return "None"
        case "array":
            return f"list[{_type(schema['items'])}]"
        case "object":
            values = schema.get("additionalProperties", True)
            return f"dict[str, {'Any' if values is True else _type(values)}]"
        case _:
            return "Any"


SOURCES: dict[Path, Any] = {PATH: results, OVERVIEW_PATH: overview_results, INPUT_PATH: definition}
