"""`kubectl kron get`: list KronJobs with their last outcomes and next runs."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.kubectl.kronjobs import read_all, status_of
from kron.kube.kind import Body, place_of

_HEAD = ("NAME", "SCHEDULE", "SUSPENDED", "ACTIVE", "LAST", "OUTCOME", "REASON", "END", "NEXT")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """List the KronJobs."""
    bodies = read_all(args)
    if args.output == "json":
        screen.json(bodies)
        return 0
    if not bodies:
        screen.note("no KronJobs found")
        return 0
    head = ("NAMESPACE", *_HEAD) if args.all_namespaces else _HEAD
    screen.table(head, [_cells(body)[not args.all_namespaces :] for body in bodies])
    return 0


def _cells(body: Body) -> list[str]:
    status, spec = status_of(body), body.get("spec") or {}
    cells = [
        *place_of(body),
        spec.get("schedule"),
        _is_suspended(body),
        status.get("active"),
        status.get("lastChosenTime") or status.get("lastNominalTime"),
        *(status.get(name) for name in ("lastOutcome", "lastReason", "lastEnd", "nextRun")),
    ]
    return ["-" if cell in (None, "") else str(cell) for cell in cells]


def _is_suspended(body: Body) -> str:
    """Return whether a KronJob is suspended or paused, as its condition says, or else its spec."""
    conditions = status_of(body).get("conditions") or []
    found = next((each for each in conditions if each.get("type") == "Suspended"), None)
    if found is not None:
        return str(found.get("status"))
    return str(bool(((body.get("spec") or {}).get("policy") or {}).get("suspend")))
