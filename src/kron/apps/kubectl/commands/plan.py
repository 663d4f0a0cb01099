"""`kubectl kron plan`: show what the KronJobs of a file would change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import now, read_text
from kron.apps.kubectl.kronjobs import job_of, read_some
from kron.apps.kubectl.upcoming import upcoming_decisions_of
from kron.apps.operator.objects import read_objects
from kron.errors import KronError, NotFound
from kron.kube.kind import GROUP, KRONJOB, Body, Place, place_of
from kron.timing.job import Job
from kron.timing.upcoming import time_of
from kron.timing.zone import rfc3339

_DEFAULT_NAMESPACE = "default"


class Change(NamedTuple):
    """What a KronJob of a file would change, its next run in the cluster and then, and what is wrong with it."""

    place: Place
    kind: str
    before: str = ""
    after: str = ""
    error: KronError | None = None


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Show the changes. Return 1 if a KronJob is invalid."""
    bodies = [_with_metadata(body, args) for path in args.file for body in _kronjobs(path)]
    if not bodies:
        raise NotFound("NOT_FOUND", "the files have no KronJobs", hint=f"use objects of {KRONJOB.api_version}")
    places = [place_of(body) for body in bodies]
    live, default = ({}, _DEFAULT_NAMESPACE) if args.offline else read_some(places, args.context)
    changes = [_change(body, live.get(place_of(body)), default, args) for body in bodies]
    if args.output == "json":
        screen.json([_record(change) for change in changes])
    else:
        _print(changes, screen)
    return int(any(change.error for change in changes))


def _kronjobs(path: str) -> list[Body]:
    text, source = (sys.stdin.read(), "stdin") if path == "-" else (read_text(path), path)
    return [body for body in read_objects(text, source) if _is_kronjob(body)]


def _is_kronjob(body: Body) -> bool:
    return body.get("kind") == KRONJOB.name and str(body.get("apiVersion")).startswith(f"{GROUP}/")


def _with_metadata(body: Body, args: argparse.Namespace) -> Body:
    """Return a KronJob with its name and namespace; the namespace is empty if nothing names one."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace = str(metadata.get("namespace") or args.namespace or "")
    return {**body, "metadata": {**metadata, "name": str(metadata.get("name") or ""), "namespace": namespace}}


def _change(body: Body, live: Body | None, default: str, args: argparse.Namespace) -> Change:
    place = Place(body["metadata"]["namespace"] or default, body["metadata"]["name"])
    body = {**body, "metadata": {**body["metadata"], "namespace": place.namespace}}
    spec = body.get("spec")
    body = body if isinstance(spec, dict) else {**body, "spec": {}}
    if live is not None and live.get("status"):
        body["status"] = live["status"]  # it knows the prefix of the identity
    start, prefix = now(args), args.identity_prefix
    before = _job_or_none(live, prefix)
    try:
        job = job_of(body, prefix)
    except KronError as error:
        return Change(place, "invalid", _next(before, start), error=error)
    return Change(place, _kind(job, body, before, live), _next(before, start), _next(job, start))


def _kind(job: Job, body: Body, before: Job | None, live: Body | None) -> str:
    """Return what changes: the schedule with its policy, the template of the Jobs, or nothing that has an effect."""
    if live is None:
        return "new"
    if before is None or (job.schedule, job.start, job.end) != (before.schedule, before.start, before.end):
        return "schedule"
    is_same = body["spec"].get("jobTemplate") == (live.get("spec") or {}).get("jobTemplate")
    return "none" if is_same else "template"


def _job_or_none(live: Body | None, prefix: str) -> Job | None:
    try:
        return job_of(live, prefix) if live else None
    except KronError:
        return None


def _next(job: Job | None, start: int) -> str:
    decisions = upcoming_decisions_of(job, start, 1) if job else []
    return rfc3339(time_of(decisions[0])) if decisions else ""


def _print(changes: Sequence[Change], screen: Screen) -> None:
    rows = [
        ("/".join(change.place), change.kind, *(time or "-" for time in (change.before, change.after)))
        for change in changes
    ]
    screen.table(("KRONJOB", "CHANGE", "NEXT NOW", "NEXT THEN"), rows)
    for change in changes:
        if change.error:
            screen.note(f"KronJob {'/'.join(change.place)}:")
            screen.error(change.error)


def _record(change: Change) -> dict[str, object]:
    place = {"namespace": change.place.namespace, "name": change.place.name}
    times = {"next_now": change.before or None, "next_then": change.after or None}
    record: dict[str, object] = {**place, "change": change.kind, **times}
    if change.error is None:
        return record
    fields = {"code": change.error.code, "message": change.error.message, "hint": change.error.hint}
    return {**record, "error": fields}
