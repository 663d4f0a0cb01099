"""`kron load`: the schedules of a file of JSON lines, defined in a store, as fast as it takes them."""

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

from kron.apps.cli.screen import Screen, describe, plural
from kron.apps.wiring import open_store
from kron.core.job import Command, Job
from kron.core.policy import Completion
from kron.errors import KronError, clip
from kron.language.definition import define
from kron.pause import Asker
from kron.registrar import Registrar
from kron.within import EVERYWHERE, keep_within

TOGETHER = 1_000  # schedules in one write
LANES = 2  # writes on their way while the next lines are read
LONGEST = 64 * 1024  # bytes of a line
SHOWN = 10  # lines that cannot be read
RARELY = (100_000, 50, 50)  # many values are made, and no cycles: looking for them costs more than it frees
OWN = ("command", "target", "name", "description", "completion")  # what a line may say beside the fields of a job
UNFOLLOWED = ("http:", "https:", "workflow:")  # targets whose runs Kron does not follow: accepted is finished


class Progress:
    """How far it has come: in place on a terminal, now and then elsewhere."""

    def __init__(self, screen: Screen, size: int) -> None:
        self.screen, self.size, self.began = screen, size, time.monotonic()
        self.defined = self.wrong = self.told = 0

    def tell(self, place: int) -> None:
        """Say how far it is, if it is time to."""
        share = f"{100 * place // max(self.size, 1):3d} %"
        speed = f"{self.defined / max(time.monotonic() - self.began, 0.001):,.0f} a second"
        if self.screen.err.isatty():
            self.screen.err.write(f"\r{share}  {self.defined:,} defined, {speed} ")
        elif self.defined - self.told >= 10 * TOGETHER:
            self.told = self.defined
            self.screen.note(f"{share}  {self.defined:,} defined, {speed}")

    def refuse(self, number: int, error: KronError) -> None:
        """Say why a line is left out."""
        self.wrong += 1
        if self.wrong <= SHOWN:
            self.screen.block(f"line {number}: {describe(error)}", self.screen.err)

    def end(self) -> None:
        """Say what came of it."""
        lasted = time.monotonic() - self.began
        start = "\r" if self.screen.err.isatty() else ""
        left = f", {plural(self.wrong, 'line')} left out" if self.wrong else ""
        self.screen.note(f"{start}{plural(self.defined, 'schedule')} defined in {lasted:.1f} s{left}")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Define them. 1 if a line could not be read; the others are defined all the same."""
    gc.set_threshold(*RARELY)
    path = Path(args.path)
    try:
        with path.open("rb") as file:
            return asyncio.run(_load(args, file, Progress(screen, path.stat().st_size)))
    except OSError as error:
        raise KronError("BAD_FILE", f"{args.path} cannot be read: {error.strerror}", hint="give a file") from None


async def _load(args: argparse.Namespace, file: BinaryIO, progress: Progress) -> int:
    asker, lanes = Asker("kron load", args.note), asyncio.Semaphore(LANES)
    keep_within(EVERYWHERE)  # the role of the API sees nothing unless it says so
    async with open_store(args.store) as store, asyncio.TaskGroup() as writing:
        registrar = Registrar(store)

        async def write(jobs: list[Job], place: int) -> None:
            try:
                await registrar.upsert_all([(job, asker) for job in jobs])
            finally:
                lanes.release()
            progress.defined += len(jobs)
            progress.tell(place)

        found = _jobs(file, progress)
        while jobs := list(islice(found, TOGETHER)):
            await lanes.acquire()
            writing.create_task(write(jobs, file.tell()))
            await asyncio.sleep(0)  # it is on its way while the next ones are read
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
            while len(line) > LONGEST and not line.endswith(b"\n"):  # the rest of one that is too long
                line = file.readline(LONGEST + 1)


def _job(line: bytes) -> Job:
    hint = 'write {"identity": "team/job", "schedule": "*/5 * * * *", "target": "https://…"} on a line of its own'
    try:
        if len(line) > LONGEST:
            raise ValueError("it is too long")
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise KronError("BAD_LINE", f"it is no JSON: {error}", hint=hint) from None
    if not isinstance(fields, dict):
        raise KronError("BAD_LINE", "it is no object", hint=hint)
    own: dict[str, Any] = {name: fields.pop(name) for name in OWN if name in fields}
    for name, value in own.items():
        if not isinstance(value, str) or "\0" in value:
            raise KronError("BAD_FIELD", f"the field {name} is not a text", hint=hint)
    if "target" in own:
        scheme, colon, rest = own["target"].partition(":")
        own["target"] = scheme.lower() + colon + rest  # it names the launcher
    if "command" in own:
        own = {"target": "command:", **own, "command": Command(own["command"])}
    completion = _completion(own.pop("completion", ""), str(own.get("target", "")))
    job = define(fields)
    schedule = replace(job.schedule, policy=replace(job.schedule.policy, completion=completion))
    return replace(job, schedule=schedule, **own)


def _completion(text: str, target: str) -> Completion:
    """When an accepted run is finished: as the line says, else as its target is known to behave."""
    if not text:
        return Completion.ACCEPTED if target.startswith(UNFOLLOWED) else Completion.REPORTED
    try:
        return Completion(text)
    except ValueError:
        hint = f"write {' or '.join(Completion)}"
        raise KronError("BAD_FIELD", f"unknown completion {clip(text)!r}", hint=hint) from None
