"""`kron load`: define the schedules of a JSON Lines file in a store, in concurrent batches."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from kron.apps.cli.console import Screen, describe, plural
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import InvalidInput, KronError, clip
from kron.language.manifest import define
from kron.rules.pause import Actor
from kron.timing.job import Command, Job
from kron.timing.schedule.policy import Completion

TOGETHER = 1_000  # schedules in one write
LANES = 2  # concurrent writes while the next lines are read
LONGEST = 64 * 1024  # maximum length of a line in bytes
SHOWN = 10  # maximum number of invalid lines shown
RARELY = (100_000, 50, 50)  # loading creates no cycles: frequent cycle collection costs more than it frees
OWN = ("command", "target", "name", "description", "completion")  # keys of a line in addition to the fields of a job
UNFOLLOWED = ("http:", "https:", "workflow:")  # targets whose runs Kron does not track: an accepted run is finished


class Progress:
    """Progress display: updated in place on a terminal, printed at intervals elsewhere."""

    def __init__(self, screen: Screen, size: int) -> None:
        self.screen, self.size, self.began = screen, size, time.monotonic()
        self.defined = self.wrong = self.told = 0

    def tell(self, place: int) -> None:
        """Print the progress if the display is due."""
        share = f"{100 * place // max(self.size, 1):3d} %"
        speed = f"{self.defined / max(time.monotonic() - self.began, 0.001):,.0f} schedules/s"
        if self.screen.err.isatty():
            self.screen.err.write(f"\r{share}  {self.defined:,} defined, {speed} ")
        elif self.defined - self.told >= 10 * TOGETHER:
            self.told = self.defined
            self.screen.note(f"{share}  {self.defined:,} defined, {speed}")

    def refuse(self, number: int, error: KronError) -> None:
        """Count a rejected line and print its error."""
        self.wrong += 1
        if self.wrong <= SHOWN:
            self.screen.block(f"line {number}: {describe(error)}", self.screen.err)

    def end(self) -> None:
        """Print the totals."""
        lasted = time.monotonic() - self.began
        start = "\r" if self.screen.err.isatty() else ""
        left = f", {plural(self.wrong, 'line')} rejected" if self.wrong else ""
        self.screen.note(f"{start}{plural(self.defined, 'schedule')} defined in {lasted:.1f} s{left}")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Define the schedules. Return 1 if a line was rejected; the other lines are defined nevertheless."""
    gc.set_threshold(*RARELY)
    path = Path(args.path)
    try:
        with path.open("rb") as file:
            return asyncio.run(_load(args, file, Progress(screen, path.stat().st_size)))
    except OSError as error:
        raise InvalidInput("BAD_FILE", f"{args.path} cannot be read: {error.strerror}", hint="give a file") from None


async def _load(args: argparse.Namespace, file: BinaryIO, progress: Progress) -> int:
    actor, lanes = Actor("kron load", args.note), asyncio.Semaphore(LANES)
    set_tenant_scope(ALL_TENANTS)  # with row-level security, the API role sees no rows without a tenant scope
    async with open_store(args.store) as store, asyncio.TaskGroup() as writing:
        registrar = Registrar(store)

        async def write(jobs: list[Job], place: int) -> None:
            try:
                await registrar.upsert_all([(job, actor) for job in jobs])
            finally:
                lanes.release()
            progress.defined += len(jobs)
            progress.tell(place)

        found = _jobs(file, progress)
        while jobs := list(islice(found, TOGETHER)):
            await lanes.acquire()
            writing.create_task(write(jobs, file.tell()))
            await asyncio.sleep(0)  # let the write start while the next lines are read
    progress.end()
    return int(progress.wrong > 0)


def _jobs(file: BinaryIO, progress: Progress) -> Iterator[Job]:
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if line.strip():
            try:
                yield _job(line)
            except KronError as error:
                progress.refuse(number, error)
            while len(line) > LONGEST and not line.endswith(b"\n"):  # skip the rest of a line that is too long
                line = file.readline(LONGEST + 1)


def _job(line: bytes) -> Job:
    hint = 'use {"identity": "team/job", "schedule": "*/5 * * * *", "target": "https://…"} on one line'
    try:
        if len(line) > LONGEST:
            raise ValueError(f"longer than {LONGEST} bytes")
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("BAD_LINE", f"line is not valid JSON: {error}", hint=hint) from None
    if not isinstance(fields, dict):
        raise InvalidInput("BAD_LINE", "line is not a JSON object", hint=hint)
    own: dict[str, Any] = {name: fields.pop(name) for name in OWN if name in fields}
    for name, value in own.items():
        if not isinstance(value, str) or "\0" in value:
            raise InvalidInput("BAD_FIELD", f"field {name} is not a string", hint=hint)
    if "target" in own:
        scheme, colon, rest = own["target"].partition(":")
        own["target"] = scheme.lower() + colon + rest  # the scheme selects the launcher
    if "command" in own:
        own = {"target": "command:", **own, "command": Command(own["command"])}
    completion = _completion(own.pop("completion", ""), str(own.get("target", "")))
    job = define(fields)
    schedule = replace(job.schedule, policy=replace(job.schedule.policy, completion=completion))
    return replace(job, schedule=schedule, **own)


def _completion(text: str, target: str) -> Completion:
    """Return when an accepted run is finished: as the line says, else the default of its target."""
    if not text:
        return Completion.ACCEPTED if target.startswith(UNFOLLOWED) else Completion.REPORTED
    try:
        return Completion(text)
    except ValueError:
        hint = f"write {' or '.join(Completion)}"
        raise InvalidInput("BAD_FIELD", f"unknown completion {clip(text)!r}", hint=hint) from None
