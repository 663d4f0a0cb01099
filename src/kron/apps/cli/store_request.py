"""Request to a store without a service: the store that the command line names, and the records that it answers."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from getpass import getuser
from typing import Any, TypeVar

from kron.apps.cli.inputs import usage_error
from kron.apps.record_fields import run_fields, state_fields
from kron.apps.unknown_job import unknown_job_error
from kron.apps.wiring import existing, open_store
from kron.engine.registrar import Registrar
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import NotFound
from kron.language.source import shown_source
from kron.rules.pause import Actor
from kron.rules.run import Run
from kron.rules.state import ScheduleState

T = TypeVar("T")


def store_url(args: argparse.Namespace) -> str:
    """Return the URL of an existing store that processes share: `--store`, or `KRON_STORE`."""
    url = args.store or os.environ.get("KRON_STORE", "")
    if not url:
        raise usage_error("no store given", "add --store sqlite:jobs.db, or set KRON_STORE")
    if existing(url).startswith("memory:"):
        message = "a memory: store exists in its own process only"
        raise usage_error(message, "use a sqlite: or postgresql: store, or the methods of kron.Scheduler")
    return url


def ask_store(args: argparse.Namespace, request: Callable[[Registrar], Awaitable[T]]) -> T:
    """Return the answer of the store that `--store` or `KRON_STORE` names.

    Raises:
        NotFound: The store has no job of the name that the command line gives. The hint names one that is similar.
    """
    return asyncio.run(_answer(args, store_url(args), request))


async def _answer(args: argparse.Namespace, url: str, request: Callable[[Registrar], Awaitable[T]]) -> T:
    set_tenant_scope(ALL_TENANTS)
    async with open_store(url) as store:
        try:
            return await request(Registrar(store))
        except NotFound as error:
            raise await unknown_job_error(store, args.job, "start the application first") from error


def actor_of(args: argparse.Namespace) -> Actor:
    """Return who requests a change: the command and the user of the operating system, with the note.

    A daemon that runs the command for someone else names the user itself.
    """
    asker = getattr(args, "asker", "")
    try:
        user = f" ({asker or getuser()})"
    except (KeyError, OSError):  # a container whose user has no name
        user = ""
    return Actor(f"{args.program} {args.command}{user}", args.note)


def job_record(state: ScheduleState) -> dict[str, Any]:
    """Return a job of a store, with the field names of the HTTP API."""
    job, source = state.job, shown_source(state.job)
    return {
        "id": state.identity,
        "schedule": source.text,
        "dialect": source.dialect,
        "timezone": source.zone,
        "target": job.target or None,
        "payload": None if job.payload is None else json.loads(job.payload),
        "labels": dict(job.labels),
        **state_fields(state),
    }


def run_record(run: Run) -> dict[str, Any]:
    """Return a run of a store, with the field names of the HTTP API."""
    return {"schedule_id": run.identity, **run_fields(run)}
