"""CronJobs that `kron import cronjobs` reads: those of files, or those of a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kron.apps.cli.inputs import now, read_text, usage_error
from kron.apps.operator.cronjob import ImportOptions
from kron.apps.operator.objects import read_objects
from kron.errors import NotFound
from kron.kube.failure import NOT_FOUND, Refusal
from kron.kube.kind import CRONJOB, OLD_CRONJOB, Body
from kron.kube.session import ask
from kron.language.reading import zone_of

if TYPE_CHECKING:
    from kron.kube.api import Api

_STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")
_VERSIONS = (CRONJOB.api_version, OLD_CRONJOB.api_version)


class Found(NamedTuple):
    """CronJobs, and how many other objects the files have."""

    cronjobs: list[Body]
    others: int


def import_options(args: argparse.Namespace) -> ImportOptions:
    """Return how the command line converts CronJobs."""
    zone = zone_of(args.cluster_zone).name if args.cluster_zone else ""
    return ImportOptions(now(args), zone, args.strict_forbid, args.by == "windows", args.namespace or "")


def find_cronjobs(args: argparse.Namespace) -> Found:
    """Return the CronJobs that the command line selects."""
    if args.all_namespaces and (args.namespace or args.file):
        raise usage_error("--all-namespaces excludes -n and -f", "remove one of them")
    if args.file is None:
        return Found(ask(lambda api, default: list_cronjobs(api, args, default), args.context), 0)
    objects = [each for path in args.file for each in _read(path)]
    cronjobs = [each for each in objects if _is_cronjob(each)]
    return Found(cronjobs, len(objects) - len(cronjobs))


async def list_cronjobs(api: Api, args: argparse.Namespace, default: str) -> list[Body]:
    """Return the CronJobs of a cluster. An old server has them in another version."""
    namespace = "" if args.all_namespaces else args.namespace or default
    try:
        return [each async for page in api.pages(CRONJOB, namespace) for each in page.items]
    except Refusal as refusal:
        if refusal.status != NOT_FOUND:
            raise
    return [each async for page in api.pages(OLD_CRONJOB, namespace) for each in page.items]


def _read(path: str) -> Iterator[Body]:
    if path == _STDIN:
        yield from read_objects(sys.stdin.read(), "stdin")
        return
    folder = Path(path)
    files = sorted(each for each in folder.iterdir() if each.suffix in _SUFFIXES) if folder.is_dir() else [folder]
    if not files:
        raise NotFound("NOT_FOUND", f"{path} has no YAML or JSON files", hint="give a file, or another folder")
    for file in files:
        yield from read_objects(read_text(str(file)), str(file))


def _is_cronjob(body: Body) -> bool:
    return body.get("kind") == CRONJOB.name and body.get("apiVersion") in _VERSIONS
