"""Conversion of states, runs and records to rows and back.

A row that cannot be read is reported with its name and never repaired.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from kron.errors import KronError, UnreadableRecord
from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.update import Revision
from kron.stores.job_codec import JOB, JOB_COLUMNS, JobRow, read_job
from kron.stores.presets import BUILT_IN, Presets
from kron.stores.row_codec import RowCodec, number_of

Row = Sequence[Any]
T = TypeVar("T")


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
    run_count: int
    failure_count: int


class Made(NamedTuple):
    """Columns of a revision apart from its definition."""

    number: int
    at: int
    actor: str
    note: str
    cursor: int


STANDING = RowCodec(Standing)
RUN, GAP, MADE, ACTION = RowCodec(Run), RowCodec(GapRecord), RowCodec(Made), RowCodec(ScheduleAction)
ATTEMPT = RowCodec(Attempt)


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
        state.run_count,
        state.failure_count,
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
        job, progress = read_job(identity, JOB.read(definition), presets), STANDING.read(standing)
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
        run_count=progress.run_count,
        failure_count=progress.failure_count,
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
        return Revision(read_job(identity, JOB.read(definition), presets), *MADE.read(made))
    except (ValueError, TypeError, KronError, RecursionError) as error:
        raise corrupt("schedule_revisions", f"{identity} number {made[0] if made else '?'}", error) from error


def read_action(identity: str, row: Row) -> ScheduleAction:
    """Return the recorded action of a row."""
    return _read_row("schedule_actions", f"{identity} at {row[1]}", ACTION, row)


def read_attempt(key: str, row: Row) -> Attempt:
    """Return the attempt of a row."""
    return _read_row("run_attempts", f"{key} number {row[0]}", ATTEMPT, row)


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
