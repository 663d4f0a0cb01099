"""Conversion of values to rows and back. A value that would not come back equal is rejected before it is written.

A schedule is stored as its canonical text with its dialect and time zone, and is read from that text. Its source text
is stored next to it, for people. A policy and a command are JSON with every field. A row that cannot be read is
reported with its name and never repaired.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from kron.errors import InvalidInput, KronError, LanguageError, UnreadableRecord
from kron.language.canonical import canonical
from kron.language.reading import read_stored
from kron.language.source import shared_source
from kron.rules.outcome import GapRecord
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.update import Revision, ScheduleAction
from kron.stores.presets import BUILT_IN, Presets
from kron.stores.row_codec import RowCodec, number_of
from kron.timing.job import Command, Job, Source
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import Policy

Row = Sequence[Any]
T = TypeVar("T")

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


class Standing(NamedTuple):
    """Progress of a schedule: the part of its state that changes without a new revision, and the revision number."""

    revision: int
    cursor: int
    since: int
    paused: bool
    deleted: bool
    wake: int | None
    paused_until: int | None
    owed: str | None  # JSON: sorted list of seconds


class Made(NamedTuple):
    """Columns of a revision apart from its definition."""

    number: int
    at: int
    actor: str
    note: str
    cursor: int


POLICY = RowCodec(Policy, without=("preset", "given"))
COMMAND, JOB, STANDING = RowCodec(Command), RowCodec(JobRow), RowCodec(Standing)
RUN, GAP, MADE, ACTION = RowCodec(Run), RowCodec(GapRecord), RowCodec(Made), RowCodec(ScheduleAction)
JOB_COLUMNS = len(JobRow._fields)
_NO_SOURCE = (None, None, None)


def write_job(job: Job) -> JobRow:
    """Return the row of a job. A store calls it once for each definition that it writes.

    Raises:
        InvalidInput: The job would not come back equal.
    """
    text, dialect = canonical(job.schedule)
    zone, policy = job.schedule.zone.name, _policy_text(job.schedule.policy)
    command = None if job.command is None else COMMAND.text(job.command)
    source = _NO_SOURCE if job.source is None else (job.source.text, job.source.dialect, job.source.zone)
    details = (job.name, job.description, command, job.target, job.start, job.end)
    row = JobRow(text, dialect, zone, policy, *details, *source)
    reason = _unstorable(job, row)
    if reason:
        hint = "build the schedule by parsing a text"
        raise InvalidInput("NOT_STORABLE", f"job {job.identity!r} cannot be stored: {reason}", hint=hint)
    return row


def write_standing(state: ScheduleState) -> Standing:
    """Return the progress row of a schedule."""
    owed = write_owed(state.owed)
    return Standing(
        state.revision,
        state.cursor,
        state.effective_from,
        state.paused,
        state.deleted,
        state.next_check_at,
        state.paused_until,
        owed,
    )


def write_owed(owed: frozenset[int] | None) -> str | None:
    """Return the nominal times that a revision took over, as JSON; None for the first revision."""
    return None if owed is None else json.dumps(sorted(owed), separators=(",", ":"))


def read_owed(text: str | None) -> frozenset[int] | None:
    """Return the nominal times of `write_owed`."""
    if text is None:
        return None
    seconds = json.loads(text)
    if not isinstance(seconds, list):
        raise ValueError(f"{text!r} is not a list of seconds")
    return frozenset(map(number_of, seconds))


def read_state(row: Row, presets: Presets = BUILT_IN) -> ScheduleState:
    """Return the schedule state of a row: identity, definition and progress. Runs are stored in another table.

    Args:
        row: Identity, then the columns of `JobRow`, then the columns of `Standing`.
        presets: Policies that fill in what the author of the schedule left open.

    Raises:
        UnreadableRecord: The row cannot be read.
    """
    identity, definition, standing = row[0], row[1 : JOB_COLUMNS + 1], row[JOB_COLUMNS + 1 :]
    try:
        job, progress = _read_job(identity, JOB.read(definition), presets), STANDING.read(standing)
        owed = read_owed(progress.owed)
    except (ValueError, TypeError, KronError, RecursionError) as error:
        raise corrupt("schedules", identity, error) from error
    return ScheduleState(
        job,
        progress.revision,
        progress.cursor,
        progress.since,
        progress.paused,
        progress.deleted,
        progress.wake,
        paused_until=progress.paused_until,
        owed=owed,
    )


def read_ahead(identity: str, rows: Sequence[Row]) -> frozenset[int]:
    """Return the nominal times (seconds) of the rows beyond a cursor."""
    try:
        return frozenset(number_of(nominal) for (nominal,) in rows)
    except ValueError as error:
        raise corrupt("schedule_runs", identity, error) from error


def read_run(row: Row) -> Run:
    """Return the run of a row, which has the fields of `Run` in their order."""
    return _read_row("schedule_runs", row[0], RUN, row)


def read_gap(identity: str, row: Row) -> GapRecord:
    """Return the gap record of a row."""
    return _read_row("schedule_gaps", f"{identity} from {row[0]}", GAP, row)


def write_revision(revision: Revision, row: JobRow) -> dict[str, Any]:
    """Return the row of a revision: its complete definition as `row`, and who made it, when and why."""
    made = Made(revision.number, revision.at, revision.actor, revision.note, revision.cursor)
    return {"schedule_id": revision.identity, **JOB.row(row), **MADE.row(made)}


def read_revision(row: Row, presets: Presets = BUILT_IN) -> Revision:
    """Return the revision of a row: the identity, its definition, then the columns of `Made`."""
    identity, definition, made = row[0], row[1 : JOB_COLUMNS + 1], row[JOB_COLUMNS + 1 :]
    try:
        return Revision(_read_job(identity, JOB.read(definition), presets), *MADE.read(made))
    except (ValueError, TypeError, KronError, RecursionError) as error:
        raise corrupt("schedule_revisions", f"{identity} number {made[0] if made else '?'}", error) from error


def read_action(identity: str, row: Row) -> ScheduleAction:
    """Return the recorded action of a row."""
    return _read_row("schedule_actions", f"{identity} at {row[1]}", ACTION, row)


def corrupt(table: str, row: object, error: object) -> UnreadableRecord:
    """Return the error of a row that cannot be read, with its table, name and cause."""
    message = f"row {row!r} of {table} cannot be read: {error}"
    hint = "restore the row from a backup: another program wrote it, or the disk failed"
    return UnreadableRecord("CORRUPT_ROW", message, hint=hint, details={"table": table, "row": row})


def _read_row(table: str, name: object, codec: RowCodec[T], row: Row) -> T:
    try:
        return codec.read(row)
    except (ValueError, TypeError) as error:
        raise corrupt(table, name, error) from error


def _read_job(identity: str, row: JobRow, presets: Presets) -> Job:
    schedule = _read_schedule(row.schedule, row.dialect, row.timezone, row.policy, presets)
    command = None if row.command is None else _read_command(row.command)
    source = _read_source(row.source, row.source_dialect, row.source_timezone)
    return Job(identity, schedule, row.name, row.description, command, row.target, row.start_at, row.end_at, source)


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


@lru_cache(1_024)
def _read_command(text: str) -> Command:
    return COMMAND.read_text(text)


def _unstorable(job: Job, row: JobRow) -> str:
    """Return why a job would not come back equal; empty if it would."""
    if not all(_is_storable(value) for value in (job.identity, *row) if isinstance(value, str)):
        return "a text contains a character that databases cannot store (NUL or a surrogate)"
    if not all(-INTEGER_LIMIT <= value < INTEGER_LIMIT for value in (row.start_at, row.end_at) if value is not None):
        return "its start or end is out of range (64-bit integer)"
    try:
        return (
            "" if _as_written(_read_job(job.identity, row, BUILT_IN), job) == job else "its schedule has no exact text"
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
