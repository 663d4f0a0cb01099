"""`kubectl kron next`: show upcoming runs of KronJobs."""

from __future__ import annotations

import argparse
from itertools import islice

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import now, usage_error
from kron.apps.kubectl.kronjobs import job_of, read_all, read_one
from kron.apps.kubectl.upcoming import upcoming_decisions_of
from kron.errors import KronError, NotFound
from kron.kube.kind import Body, place_of
from kron.language.record import to_record
from kron.timing.decision import Decision
from kron.timing.upcoming import time_of
from kron.timing.zone import rfc3339


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Show the next runs, in the order in which they run."""
    if args.name and args.all_namespaces:
        raise usage_error("--all-namespaces excludes a name", "remove one of them")
    bodies = [read_one(args)] if args.name else read_all(args)
    found = [(decision, "/".join(place_of(body))) for body in bodies for decision in _decisions(body, args, screen)]
    found.sort(key=lambda pair: (time_of(pair[0]), pair[1]))
    rows = list(islice(found, args.count))
    if not rows:
        raise NotFound("NOT_FOUND", "no upcoming runs", hint="see kubectl kron get for suspended KronJobs")
    if args.output == "json":
        screen.json([to_record(decision) for decision, _ in rows])
    else:
        screen.table(("RUNS AT", "ZONE", "UTC", "KRONJOB"), [_cells(*row) for row in rows])
    return 0


def _decisions(body: Body, args: argparse.Namespace, screen: Screen) -> list[Decision]:
    """Return the next decisions of a KronJob. One of many that is invalid or suspended only gets a note."""
    name = "/".join(place_of(body))
    try:
        job = job_of(body, args.identity_prefix)
    except KronError as error:
        if args.name:
            raise
        screen.note(f"{name}: invalid spec: {error.message}")
        return []
    if job.schedule.policy.suspend:
        screen.note(f"{name}: suspended")
    return upcoming_decisions_of(job, now(args), args.count)


def _cells(decision: Decision, name: str) -> tuple[str, str, str, str]:
    time, zone = time_of(decision), decision.schedule.zone
    return zone.wall(time).text, zone.name, rfc3339(time), name
