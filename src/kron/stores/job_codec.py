"""Conversion of jobs to rows and back. A job that would not come back equal is rejected before it is written.

A schedule is stored as its canonical text with its dialect and time zone, and is read from that text. Its source text
is stored next to it, for people. A policy, a command and the options of a webhook are JSON with every field; the later
axes of a policy are left out where they have their default.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from kron.errors import InvalidInput, KronError, LanguageError
from kron.language.canonical import canonical
from kron.language.reading import read_stored
from kron.language.source import shared_source
from kron.stores.presets import BUILT_IN, Presets
from kron.stores.row_codec import RowCodec
from kron.timing.job import Command, Job, Source, Webhook
from kron.timing.labels import Labels, label_text, label_tuple
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import LATER_AXES, Policy

INTEGER_LIMIT = 1 << 63  # integers n satisfy -INTEGER_LIMIT <= n < INTEGER_LIMIT


class JobRow(NamedTuple):
    """Columns of a job, without its identity. Stores read and write them; everything else uses `Job`."""

    schedule: str
    dialect: str
    timezone: str
    policy: str
    name: str
    description: str
    command: str | None
    target: str
    start_at: int | None
    end_at: int | None
    source: str | None
    source_dialect: str | None
    source_timezone: str | None
    payload: str | None
    labels: str | None  # JSON object
    webhook: str | None  # JSON object


POLICY = RowCodec(Policy, without=("preset", "given"), optional=LATER_AXES)
COMMAND, WEBHOOK, JOB = RowCodec(Command, optional=("stdin", "grace", "notify")), RowCodec(Webhook), RowCodec(JobRow)
JOB_COLUMNS = len(JobRow._fields)
_NO_SOURCE: tuple[str | None, str | None, str | None] = (None, None, None)


def write_job(job: Job) -> JobRow:
    """Return the row of a job. A store calls it once for each definition that it writes.

    Raises:
        InvalidInput: The job would not come back equal.
    """
    text, dialect = canonical(job.schedule)
    zone, policy = job.schedule.zone.name, _policy_text(job.schedule.policy)
    command = None if job.command is None else COMMAND.text(job.command)
    webhook = None if job.webhook is None else WEBHOOK.text(job.webhook)
    source, source_dialect, source_timezone = _NO_SOURCE
    if job.source is not None:
        source, source_dialect, source_timezone = job.source.text, job.source.dialect, job.source.zone
    details = (job.name, job.description, command, job.target, job.start, job.end)
    origin = (source, source_dialect, source_timezone)
    row = JobRow(text, dialect, zone, policy, *details, *origin, job.payload, label_text(job.labels), webhook)
    reason = _unstorable(job, row)
    if reason:
        hint = "build the schedule by parsing a text"
        raise InvalidInput("NOT_STORABLE", f"job {job.identity!r} cannot be stored: {reason}", hint=hint)
    return row


def read_job(identity: str, row: JobRow, presets: Presets = BUILT_IN) -> Job:
    """Return the job of a row. Raises ValueError, TypeError or KronError for a row that cannot be read."""
    schedule = _read_schedule(row.schedule, row.dialect, row.timezone, row.policy, presets)
    command = None if row.command is None else _read_command(row.command)
    source = _read_source(row.source, row.source_dialect, row.source_timezone)
    details = (row.name, row.description, command, row.target, row.start_at, row.end_at, source)
    webhook = None if row.webhook is None else _read_webhook(row.webhook)
    return Job(identity, schedule, *details, row.payload, _read_labels(row.labels), webhook)


def _read_source(text: str | None, dialect: str | None, zone: str | None) -> Source | None:
    if text is not None and dialect is not None:
        return shared_source(text, dialect, zone)
    if (text, dialect, zone) != _NO_SOURCE:
        raise ValueError("a source text needs its dialect")
    return None


@lru_cache(16_384)  # parsing dominates the cost of a row, and many rows share few texts
def _read_schedule(text: str, dialect: str, zone: str, policy: str, presets: Presets) -> Schedule:
    schedule = read_stored(text, dialect, zone)
    return replace(schedule, policy=_read_policy(policy, presets))


def _read_policy(text: str, presets: Presets) -> Policy:
    """Return the policy of a row: every axis, or the name of a preset and the axes that the author gave."""
    if '"preset"' not in text:
        return POLICY.read_text(text)
    fields = json.loads(text)
    name = fields.pop("preset")
    return replace(presets.named(name), **POLICY.read_subset(fields), preset=name, given=tuple(sorted(fields)))


@lru_cache(1_024)
def _policy_text(policy: Policy) -> str:
    if not policy.preset:
        return POLICY.text(policy)
    fields = {"preset": policy.preset, **POLICY.subset(policy, policy.given)}
    return json.dumps(fields, separators=(",", ":"), sort_keys=True)


@lru_cache(16_384)
def _read_labels(text: str | None) -> Labels:
    if text is None:
        return ()
    values = json.loads(text)
    is_object = isinstance(values, dict) and all(type(value) is str for value in values.values())
    if not is_object or label_text(label_tuple(values)) != text:
        raise ValueError(f"{text!r} is not an object of texts, ordered by key")
    return label_tuple(values)


@lru_cache(1_024)
def _read_webhook(text: str) -> Webhook:
    return WEBHOOK.read_text(text)


@lru_cache(1_024)
def _read_command(text: str) -> Command:
    return COMMAND.read_text(text)


def _unstorable(job: Job, row: JobRow) -> str:
    """Return why a job would not come back equal; empty if it would."""
    if not _is_storable("".join([value for value in (job.identity, *row) if isinstance(value, str)])):
        return "a text contains a character that databases cannot store (NUL or a surrogate)"
    if not all(-INTEGER_LIMIT <= value < INTEGER_LIMIT for value in (row.start_at, row.end_at) if value is not None):
        return "its start or end is out of range (64-bit integer)"
    try:
        return (
            "" if _as_written(read_job(job.identity, row, BUILT_IN), job) == job else "its schedule has no exact text"
        )
    except (ValueError, TypeError, KronError) as error:
        return f"its schedule has no text: {error.message if isinstance(error, LanguageError) else error}"


def _as_written(read: Job, job: Job) -> Job:
    """Return the job that was read with the values of the writer's preset, which are not part of the row."""
    writer_policy, stored_policy = job.schedule.policy, read.schedule.policy
    if not writer_policy.preset or writer_policy == stored_policy:
        return read
    given_fields = {name: getattr(stored_policy, name) for name in stored_policy.given}
    policy = replace(writer_policy, **given_fields, preset=stored_policy.preset, given=stored_policy.given)
    return replace(read, schedule=replace(read.schedule, policy=policy))


def _is_storable(text: str) -> bool:
    return "\0" not in text and (text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text))
