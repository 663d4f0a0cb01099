"""Values as rows, and back. What comes back is equal; what could not, is refused before it is written.

A schedule is kept as its canonical text, with its dialect and its zone; a policy and a command as JSON with
every field. A row that cannot be read is named, never repaired.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from kron.core.case import Case
from kron.core.job import Command, Job
from kron.core.outcome import Gap
from kron.core.period import next_nominal
from kron.core.policy import KRON, Policy
from kron.core.run import Run
from kron.core.schedule import Schedule
from kron.core.schedule.cron import possible
from kron.errors import KronError, LanguageError
from kron.language import parse
from kron.language.explain import dialect_of, unparse, write_cron
from kron.store import Act, Revision
from kron.stores.form import Form, number_of
from kron.stores.presets import BUILT_IN, Presets

Row = Sequence[Any]
T = TypeVar("T")

MOST = 1 << 63  # whole numbers lie below it, and not below its negative


class Definition(NamedTuple):
    """A job without its identity, column by column."""

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


class Standing(NamedTuple):
    """How far a schedule has come: what of a case changes without a new revision, and the revision."""

    revision: int
    cursor: int
    since: int
    paused: bool
    deleted: bool
    wake: int | None
    paused_until: int | None
    owed: str | None  # JSON: seconds, in order


class Made(NamedTuple):
    """The columns of a revision that are not its definition."""

    number: int
    at: int
    who: str
    note: str
    cursor: int


POLICY = Form(Policy, without=("preset", "given"))
COMMAND, DEFINITION, STANDING = Form(Command), Form(Definition), Form(Standing)
RUN, GAP, MADE, ACT = Form(Run), Form(Gap), Form(Made), Form(Act)
WIDTH = len(Definition._fields)


def write_job(job: Job) -> Definition:
    """The row of a job. A job that would not come back equal is refused."""
    text, dialect = _said(job.schedule)
    policy = _policy(job.schedule.policy)
    command = None if job.command is None else COMMAND.text(job.command)
    zone = job.schedule.zone.name
    row = Definition(text, dialect, zone, policy, job.name, job.description, command, job.target, job.start, job.end)
    reason = _unstorable(job, row)
    if reason:
        hint = "build the schedule by parsing a text"
        raise KronError("NOT_STORABLE", f"the job {job.identity!r} cannot be stored: {reason}", hint=hint)
    return row


def write_standing(case: Case) -> Standing:
    """The row of what changes without a new revision."""
    owed = write_owed(case.owed)
    return Standing(case.revision, case.cursor, case.since, case.paused, case.deleted, case.wake, case.until, owed)


def write_owed(owed: frozenset[int] | None) -> str | None:
    """Return the nominal times that a revision took over, as JSON; None for the first revision."""
    return None if owed is None else json.dumps(sorted(owed), separators=(",", ":"))


def read_owed(text: str | None) -> frozenset[int] | None:
    """Return the nominal times of `write_owed`."""
    if text is None:
        return None
    found = json.loads(text)
    if not isinstance(found, list):
        raise ValueError(f"{text!r} is not a list of seconds")
    return frozenset(map(number_of, found))


def next_at(case: Case, new: Sequence[Run] = ()) -> int | None:
    """Return the nominal time (seconds) of the next period without a record, now or in `new`; None if there is none.

    It is kept for the views alone: no decision reads it.
    """
    job = case.job
    if case.idle:
        return None
    handled = case.ahead.union(run.nominal for run in new if not run.trigger) if new else case.ahead
    nominal = next_nominal(job.schedule, max(case.cursor, case.since // 1000, job.start or case.cursor))
    while nominal in handled and nominal is not None:
        nominal = next_nominal(job.schedule, nominal)
    return None if nominal is None or (job.end is not None and nominal > job.end) else nominal


def read_case(row: Row, presets: Presets = BUILT_IN) -> Case:
    """The case of a row: the identity, its definition, how far it has come. Its runs are kept elsewhere.

    `presets` fill in what the author of the schedule left open.
    """
    identity, definition, standing = row[0], row[1 : WIDTH + 1], row[WIDTH + 1 :]
    try:
        job, at = _job(identity, DEFINITION.read(definition), presets), STANDING.read(standing)
        owed = read_owed(at.owed)
    except (ValueError, TypeError, KronError, RecursionError) as error:
        raise corrupt("schedules", identity, error) from error
    return Case(job, at.revision, at.cursor, at.since, at.paused, at.deleted, at.wake, until=at.paused_until, owed=owed)


def read_ahead(identity: str, rows: Sequence[Row]) -> frozenset[int]:
    """The nominal times of the rows beyond a cursor."""
    try:
        return frozenset(number_of(nominal) for (nominal,) in rows)
    except ValueError as error:
        raise corrupt("schedule_runs", identity, error) from error


def read_run(row: Row) -> Run:
    """The run of a row: its fields in their order."""
    return _read("schedule_runs", row[0], RUN, row)


def read_gap(identity: str, row: Row) -> Gap:
    """The gap of a row."""
    return _read("schedule_gaps", f"{identity} from {row[0]}", GAP, row)


def write_revision(revision: Revision) -> dict[str, Any]:
    """Return the row of a revision: its complete definition, and who made it, when and why."""
    made = Made(revision.number, revision.at, revision.who, revision.note, revision.cursor)
    return {"schedule_id": revision.identity, **DEFINITION.row(write_job(revision.job)), **MADE.row(made)}


def read_revision(row: Row, presets: Presets = BUILT_IN) -> Revision:
    """Return the revision of a row: the identity, its definition, then the columns of `Made`."""
    identity, definition, made = row[0], row[1 : WIDTH + 1], row[WIDTH + 1 :]
    try:
        return Revision(_job(identity, DEFINITION.read(definition), presets), *MADE.read(made))
    except (ValueError, TypeError, KronError, RecursionError) as error:
        raise corrupt("schedule_revisions", f"{identity} number {made[0] if made else '?'}", error) from error


def read_act(identity: str, row: Row) -> Act:
    """The act of a row."""
    return _read("schedule_acts", f"{identity} at {row[1]}", ACT, row)


def corrupt(table: str, row: object, error: object) -> KronError:
    """The answer to a row that cannot be read: which one, and why."""
    message = f"the row {row!r} of {table} cannot be read: {error}"
    hint = "somebody else wrote it, or the disk failed: restore it from a backup"
    return KronError("CORRUPT_ROW", message, hint=hint, details={"table": table, "row": row})


def _read(table: str, name: object, form: Form[T], row: Row) -> T:
    try:
        return form.read(row)
    except (ValueError, TypeError) as error:
        raise corrupt(table, name, error) from error


@lru_cache(1_024)
def _said(schedule: Schedule) -> tuple[str, str]:
    """The text of a schedule without its policy, and the dialect that it is in."""
    if dialect_of(schedule) == "service" or not possible(schedule.cron):  # Kron's own refuses what never occurs
        return write_cron(schedule.cron), "service"
    return unparse(replace(schedule, policy=KRON)), "kron"


def _job(identity: str, row: Definition, presets: Presets) -> Job:
    schedule = _schedule(row.schedule, row.dialect, row.timezone, row.policy, presets)
    command = None if row.command is None else _command(row.command)
    return Job(identity, schedule, row.name, row.description, command, row.target, row.start_at, row.end_at)


@lru_cache(16_384)  # reading a text costs more than all the rest, and few texts make many rows
def _schedule(text: str, dialect: str, zone: str, policy: str, presets: Presets) -> Schedule:
    return replace(parse(text, dialect=dialect, zone=zone), policy=_read_policy(policy, presets))


def _read_policy(text: str, presets: Presets) -> Policy:
    """Return the policy of a row: every axis, or the name of a preset and the axes that the author gave."""
    if '"preset"' not in text:
        return POLICY.read_text(text)
    given = json.loads(text)
    name = given.pop("preset")
    return replace(presets.named(name), **POLICY.read_some(given), preset=name, given=tuple(sorted(given)))


@lru_cache(1_024)
def _policy(policy: Policy) -> str:
    if not policy.preset:
        return POLICY.text(policy)
    given = {"preset": policy.preset, **POLICY.some(policy, policy.given)}
    return json.dumps(given, separators=(",", ":"), sort_keys=True)


@lru_cache(1_024)
def _command(text: str) -> Command:
    return COMMAND.read_text(text)


def _unstorable(job: Job, row: Definition) -> str:
    """Why a job would not come back as it is; empty if it would."""
    if not all(_plain(value) for value in (job.identity, *row) if isinstance(value, str)):
        return "a text of it has a character that no database keeps"
    if not all(-MOST <= value < MOST for value in (row.start_at, row.end_at) if value is not None):
        return "a number of it is out of range"
    try:
        return "" if _as_written(_job(job.identity, row, BUILT_IN), job) == job else "no text says its schedule exactly"
    except (ValueError, TypeError, KronError) as error:
        return f"no text says its schedule: {error.message if isinstance(error, LanguageError) else error}"


def _as_written(read: Job, job: Job) -> Job:
    """Return what was read, with what the preset of the writer fills in: it is not part of the row."""
    mine, written = job.schedule.policy, read.schedule.policy
    if not mine.preset or mine == written:
        return read
    given = {name: getattr(written, name) for name in written.given}
    policy = replace(mine, **given, preset=written.preset, given=written.given)
    return replace(read, schedule=replace(read.schedule, policy=policy))


def _plain(text: str) -> bool:
    return "\0" not in text and (text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text))
