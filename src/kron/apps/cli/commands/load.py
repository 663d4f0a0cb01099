"""`kron load`: define the schedules of a JSON Lines file in a store, in concurrent batches."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from kron.apps.cli.console import Screen, describe
from kron.apps.cycle_collector import collect_rarely
from kron.apps.plural import plural
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import InvalidInput, KronError, clip
from kron.language.fault import Fault
from kron.language.manifest import FIELDS, define
from kron.language.output_form import read_output
from kron.rules.pause import Actor
from kron.timing.job import Command, Job
from kron.timing.labels import labels_of
from kron.timing.payload import payload_text
from kron.timing.schedule.policy import AfterEnd, Completion

BATCH_SIZE = 1_000  # schedules in one write
MAX_CONCURRENT_WRITES = 2  # concurrent writes while the next lines are read
MAX_LINE_BYTES = 256 * 1024  # maximum length of a line in bytes: a payload of 64 KiB, also if it is written as escapes
MAX_TEXT_LENGTH = 64 * 1024  # maximum length of a text field
MAX_SHOWN_ERRORS = 10  # maximum number of invalid lines shown
COMMAND_KEYS = ("stdin", "stdout", "stderr")  # keys of a line that need a command
# Keys of a line in addition to the fields of a job.
LINE_KEYS = ("command", *COMMAND_KEYS, "target", "name", "description", "completion")
LIMIT_KEYS = ("max_runs", "pause_on_failure")  # keys of a line that are axes of its policy
ALL_KEYS = (*FIELDS[:2], *LINE_KEYS, *FIELDS[2:], "payload", "labels", *LIMIT_KEYS, "after_end")
MAX_LIMIT = 1_000_000
# Targets whose runs Kron does not track: an accepted run is finished.
UNTRACKED_SCHEMES = ("http:", "https:", "workflow:")
KNOWN_SCHEMES = (*UNTRACKED_SCHEMES, "command:", "kubernetes:", "python:")


class Progress:
    """Progress display: updated in place on a terminal, printed at intervals elsewhere."""

    def __init__(self, screen: Screen, size: int) -> None:
        self.screen, self.size, self.started_at = screen, size, time.monotonic()
        self.defined = self.rejected = self.unknown = self.last_shown = 0

    def show(self, position: int) -> None:
        """Print the progress if the display is due."""
        percentage = f"{100 * position // max(self.size, 1):3d} %"
        speed = f"{self.defined / max(time.monotonic() - self.started_at, 0.001):,.0f} schedules/s"
        if self.screen.err.isatty():
            self.screen.err.write(f"\r{percentage}  {self.defined:,} defined, {speed} ")
        elif self.defined - self.last_shown >= 10 * BATCH_SIZE:
            self.last_shown = self.defined
            self.screen.note(f"{percentage}  {self.defined:,} defined, {speed}")

    def reject(self, number: int, error: KronError) -> None:
        """Count a rejected line and print its error."""
        self.rejected += 1
        if self.rejected <= MAX_SHOWN_ERRORS:
            self.screen.block(f"line {number}: {describe(error)}", self.screen.err)

    def warn(self, number: int, target: str) -> None:
        """Print that no worker of Kron launches the target of a line, if its scheme is unknown."""
        if not target.startswith(KNOWN_SCHEMES):
            self.unknown += 1
            if self.unknown <= MAX_SHOWN_ERRORS:
                self.screen.note(f"line {number}: warning: no worker of Kron launches the target {clip(target)!r}")
                self.screen.note(f"  hint: use a target that begins with {', '.join(KNOWN_SCHEMES)}")

    def end(self) -> None:
        """Print the totals."""
        seconds = time.monotonic() - self.started_at
        line_start = "\r" if self.screen.err.isatty() else ""
        rejected_text = f", {plural(self.rejected, 'line')} rejected" if self.rejected else ""
        self.screen.note(f"{line_start}{plural(self.defined, 'schedule')} defined in {seconds:.1f} s{rejected_text}")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Define the schedules. Return 1 if a line was rejected; the other lines are defined nevertheless."""
    collect_rarely()
    path = Path(args.path)
    try:
        with path.open("rb") as file:
            return asyncio.run(_load(args, file, Progress(screen, path.stat().st_size)))
    except ExceptionGroup as group:  # of the concurrent writes
        raise group.exceptions[0] from None
    except OSError as error:
        raise InvalidInput("BAD_FILE", f"{args.path} cannot be read: {error.strerror}", hint="give a file") from None


async def _load(args: argparse.Namespace, file: BinaryIO, progress: Progress) -> int:
    actor, write_slots = Actor("kron load", args.note), asyncio.Semaphore(MAX_CONCURRENT_WRITES)
    set_tenant_scope(ALL_TENANTS)  # with row-level security, the API role sees no rows without a tenant scope
    async with open_store(args.store) as store, asyncio.TaskGroup() as task_group:
        registrar = Registrar(store)

        async def write(jobs: list[Job], position: int) -> None:
            try:
                await registrar.upsert_all([(job, actor) for job in jobs])
            finally:
                write_slots.release()
            progress.defined += len(jobs)
            progress.show(position)

        all_jobs = _jobs(file, progress)
        while jobs := list(islice(all_jobs, BATCH_SIZE)):
            await write_slots.acquire()
            task_group.create_task(write(jobs, file.tell()))
            await asyncio.sleep(0)  # let the write start while the next lines are read
    progress.end()
    return int(progress.rejected > 0)


def _jobs(file: BinaryIO, progress: Progress) -> Iterator[Job]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if line.strip():
            try:
                job = _job(line)
                progress.warn(number, job.target)
                yield job
            except KronError as error:
                progress.reject(number, error)
            while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):  # skip the rest of a line that is too long
                line = file.readline(MAX_LINE_BYTES + 1)


def _job(line: bytes) -> Job:
    hint = 'use {"identity": "team/job", "schedule": "*/5 * * * *", "target": "https://…"} on one line'
    try:
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"longer than {MAX_LINE_BYTES} bytes")
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("BAD_LINE", f"line is not valid JSON: {error}", hint=hint) from None
    if not isinstance(fields, dict):
        raise InvalidInput("BAD_LINE", "line is not a JSON object", hint=hint)
    line_fields: dict[str, Any] = {name: fields.pop(name) for name in LINE_KEYS if name in fields}
    data, limits = _data(fields), _limits(fields)
    for name, value in line_fields.items():
        if not isinstance(value, str) or "\0" in value:
            raise InvalidInput("BAD_FIELD", f"field {name} is not a string", hint=hint)
        if len(value) > MAX_TEXT_LENGTH:
            raise InvalidInput(
                "BAD_FIELD", f"field {name} is too long", hint=f"use up to {MAX_TEXT_LENGTH:,} characters"
            )
    if "target" in line_fields:
        scheme, colon, rest = line_fields["target"].partition(":")
        line_fields["target"] = scheme.lower() + colon + rest  # the scheme selects the launcher
    if not line_fields.get("command", "").strip():
        line_fields.pop("command", None)  # an empty command is none
    if "command" in line_fields:
        command = _command(line_fields)
        line_fields = {"target": "command:", **line_fields, "command": command}
    _reject_command_keys(line_fields)
    completion = _completion(line_fields.pop("completion", ""), str(line_fields.get("target", "")))
    job = define(fields, ALL_KEYS)
    if not line_fields.get("target"):
        message = "the line has neither target nor command"
        raise InvalidInput("BAD_LINE", message, hint='add "target": "https://…" or "command": "…"')
    schedule = replace(job.schedule, policy=replace(job.schedule.policy, completion=completion, **limits))
    return replace(job, schedule=schedule, **line_fields, **data)


def _command(line_fields: dict[str, Any]) -> Command:
    """Take the input and the outputs of a command out of the fields of a line, and return the command."""
    stdin = line_fields.pop("stdin", None)
    if stdin not in (None, "payload"):
        raise InvalidInput("BAD_FIELD", f"field stdin {clip(stdin)!r} is unknown", hint='use "stdin": "payload"')
    stdout, stderr = (_output(name, line_fields.pop(name, None)) for name in ("stdout", "stderr"))
    return Command(line_fields["command"], stdin=stdin, stdout=stdout, stderr=stderr)


def _reject_command_keys(line_fields: dict[str, Any]) -> None:
    """Reject the fields of a command in a line that has none. `_command` has taken them out of any other line."""
    for name in COMMAND_KEYS:
        if name in line_fields:
            hint = f'add "command": "…", or remove {name}'
            raise InvalidInput("BAD_FIELD", f"field {name} needs a command", hint=hint)


def _output(name: str, text: str | None) -> str | None:
    try:
        if text is not None:
            read_output(text)
    except Fault as fault:
        raise InvalidInput("BAD_FIELD", f"field {name}: {fault.message}", hint=fault.hint) from None
    return text


def _data(fields: dict[str, Any]) -> dict[str, Any]:
    """Take the payload and the labels out of the fields of a line."""
    payload, labels = fields.pop("payload", None), fields.pop("labels", {})
    if not isinstance(labels, dict):
        raise InvalidInput("BAD_FIELD", "field labels is not an object", hint='write {"team": "billing"}')
    return {"payload": None if payload is None else payload_text(payload), "labels": labels_of(labels)}


def _limits(fields: dict[str, Any]) -> dict[str, Any]:
    """Take the axes of the policy that a line can have out of its fields."""
    limits = {name: value for name in LIMIT_KEYS if (value := fields.pop(name, None)) is not None}
    for name, value in limits.items():
        if type(value) is not int or not 1 <= value <= MAX_LIMIT:
            hint = f"use an integer from 1 to {MAX_LIMIT:,}"
            raise InvalidInput("BAD_FIELD", f"field {name} cannot be {clip(repr(value))}", hint=hint)
    after_end = fields.pop("after_end", "keep")
    if after_end not in ("keep", "delete"):
        raise InvalidInput("BAD_FIELD", f"field after_end cannot be {clip(repr(after_end))}", hint="use keep or delete")
    return limits | {"after_end": AfterEnd(after_end)}


def _completion(text: str, target: str) -> Completion:
    """Return when an accepted run is finished: as the line says, else the default of its target."""
    if not text:
        return Completion.ACCEPTED if target.startswith(UNTRACKED_SCHEMES) else Completion.REPORTED
    try:
        return Completion(text)
    except ValueError:
        hint = f"write {' or '.join(Completion)}"
        raise InvalidInput("BAD_FIELD", f"unknown completion {clip(text)!r}", hint=hint) from None
