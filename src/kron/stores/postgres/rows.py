"""Conversion between PostgreSQL rows and Kron's values: the only module that knows both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from kron.engine.fleet import Share, kind_of, shard_of
from kron.errors import InvalidInput, KronError
from kron.rules.action import ScheduleAction
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.run_state import OPEN, State
from kron.rules.state import ScheduleState
from kron.rules.upcoming import next_period
from kron.rules.update import Revision
from kron.stores.codec import read_state, write_owed
from kron.stores.job_codec import JobRow
from kron.stores.postgres.arrays import numbers, octets, texts, truths
from kron.stores.presets import Presets
from kron.timing.job import Job

Row = Sequence[Any]
_UINT64_MAX = (1 << 64) - 1
NO_PROGRESS = (1, 0, 0, False, False, None, None, None, 0, 0)  # progress columns of a definition that is read alone


def key_bytes(key: str) -> bytes:
    """Return a key as it is stored: 32 bytes. Raises `InvalidInput` for any other text."""
    try:
        raw_key = bytes.fromhex(key)
    except ValueError:
        raw_key = b""
    if len(raw_key) != 32 or raw_key.hex() != key:
        hint = "use the run's key: a SHA-256 in lower-case hexadecimal (64 characters)"
        raise InvalidInput("NOT_STORABLE", f"{key!r} is not an idempotency key", hint=hint)
    return raw_key


def fold(runs: Iterable[Run]) -> int:
    """Return the digest of the open runs and their fencing tokens (64 bits).

    It is an XOR over the runs: independent of their order, and a change of one run can be applied as a difference.
    """
    combined = 0
    for run in runs:
        if run.state in OPEN:
            combined ^= int(run.key[:16], 16) * _token(run.state, run.attempt, run.owner, run.lease)
    combined &= _UINT64_MAX
    return combined - _UINT64_MAX - 1 if combined > _UINT64_MAX >> 1 else combined


@lru_cache(4_096)
def _token(state: State, attempt: int, owner: str, lease: int | None) -> int:
    """Return a fencing token as an odd number. Its product with a key, which is a digest, is a digest of both."""
    token = f"{state.value}:{attempt}:{owner}:{lease}"
    return int.from_bytes(sha256(token.encode()).digest()[:8], "big") | 1


def digest(row: JobRow) -> int:
    """Return the digest of a definition (64 bits, signed)."""
    return int.from_bytes(sha256(repr(tuple(row)).encode()).digest()[:8], "big", signed=True)


def read_job(row: Row, presets: Presets) -> tuple[tuple[str, int], Job]:
    """Return identity and digest of a definition, and the job."""
    identity, number, *definition = row
    try:
        job = _read_definition(presets, *definition)
    except KronError:
        job = read_state((identity, *definition, *NO_PROGRESS), presets).job  # raises an error that names the schedule
    return (identity, number), with_identity(identity, job)


def with_identity(identity: str, job: Job) -> Job:
    """Return the same definition with another identity."""
    details = (job.name, job.description, job.command, job.target, job.start, job.end, job.source)
    return Job(identity, job.schedule, *details, job.payload, job.labels, job.webhook)


@lru_cache(16_384)
def _read_definition(presets: Presets, *definition: Any) -> Job:
    """Return a definition without its identity. Cached, because many schedules of a large table share a definition."""
    return read_state(("", *definition, *NO_PROGRESS), presets).job


def definition_columns(rows: Mapping[str, JobRow]) -> dict[str, Any]:
    """Return the columns of definitions, which are given by identity."""
    text, dialect, zone, policy, name, description, command, target, start, end, *others = zip(
        *rows.values(), strict=True
    )
    source, source_dialect, source_timezone, payload, labels, webhook = others
    return {
        "schedules": texts(rows),
        "digests": numbers(map(digest, rows.values())),
        "texts": texts(text),
        "dialects": texts(dialect),
        "zones": texts(zone),
        "policies": texts(policy),
        "names": texts(name),
        "descriptions": texts(description),
        "commands": texts(command),
        "targets": texts(target),
        "starts": numbers(start),
        "ends": numbers(end),
        "sources": texts(source),
        "source_dialects": texts(source_dialect),
        "source_timezones": texts(source_timezone),
        "payloads": texts(payload),
        "labels": texts(labels),
        "webhooks": texts(webhook),
    }


def progress_columns(
    states: Sequence[ScheduleState],
    seens: Iterable[int],
    reaches: Iterable[int],
    nexts: Iterable[int | None] | None = None,
) -> dict[str, Any]:
    """Return the columns of the progress of schedules."""
    return {
        "schedules": texts(state.identity for state in states),
        "revisions": numbers(state.revision for state in states),
        "cursors": numbers(state.cursor for state in states),
        "sinces": numbers(state.effective_from for state in states),
        "paused": truths(state.paused for state in states),
        "deleted": truths(state.deleted for state in states),
        "wakes": numbers(state.next_check_at for state in states),
        "untils": numbers(state.paused_until for state in states),
        "seens": numbers(seens),
        "reaches": numbers(reaches),
        "oweds": texts(write_owed(state.owed) for state in states),
        "run_counts": numbers(state.run_count for state in states),
        "failure_counts": numbers(state.failure_count for state in states),
        "kinds": texts(kind_of(state.job.target) for state in states),
        "shards": numbers(shard_of(state.identity) for state in states),
        "nexts": numbers(map(next_period, states) if nexts is None else nexts),
    }


def grouped_runs(runs: Iterable[tuple[Run, bool]]) -> list[dict[str, Any]]:
    """Group new runs that share most values, and return the columns of each group.

    Each run comes with a flag: whether it must be the only active run of its schedule.
    """
    groups: dict[tuple[tuple[Any, ...], tuple[Any, ...], bool], list[Run]] = {}
    for run, exclusive in runs:
        shared_values = run[5:12], run[13:], exclusive  # all but identity, key, revision, times and not_before
        if shared_values in groups:
            groups[shared_values].append(run)
        else:
            groups[shared_values] = [run]
    return [_group_columns(*shared_values, group) for shared_values, group in groups.items()]


def _group_columns(front: tuple[Any, ...], back: tuple[Any, ...], exclusive: bool, runs: list[Run]) -> dict[str, Any]:
    state, trigger, outcome, reason, attempt, owner, lease = front
    maybe_delivered, created, changed, sent, unsent, launched, failures, ends_by = back
    return {
        "schedules": texts([run.identity for run in runs]),
        "nominals": numbers([run.nominal for run in runs]),
        "dues": numbers([run.due for run in runs]),
        "revisions": numbers([run.revision for run in runs]),
        "keys": octets([key_bytes(run.key) for run in runs]),
        "not_befores": numbers([run.not_before for run in runs]),
        "status": state.value,
        "trigger": trigger,
        "outcome": None if outcome is None else outcome.value,
        "reason": None if reason is None else reason.value,
        "attempt": attempt,
        "owner": owner,
        "lease": lease,
        "maybe_delivered": maybe_delivered,
        "created": created,
        "changed": changed,
        "sent": sent,
        "unsent": unsent,
        "launched": launched,
        "failures": failures,
        "ends_by": ends_by,
        "exclusive": exclusive,
    }


def request_columns(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the columns of manual requests."""
    return {
        "keys": octets(key_bytes(run.key) for run in runs),
        "schedules": texts(run.identity for run in runs),
        "nominals": numbers(run.nominal for run in runs),
    }


def period_columns(runs: Iterable[Run]) -> dict[str, Any]:
    """Return the columns that identify runs by their periods."""
    listed_runs = list(runs)
    return {
        "schedules": texts(run.identity for run in listed_runs),
        "nominals": numbers(run.nominal for run in listed_runs),
        "triggers": texts(run.trigger for run in listed_runs),
    }


def changed_run_columns(runs: Iterable[tuple[Run, bool]]) -> dict[str, Any]:
    """Return the columns of changed runs, each with a flag: whether it must be the only active run from now on."""
    listed_runs, exclusives = zip(*runs, strict=True)
    return {
        **period_columns(listed_runs),
        "statuses": texts(run.state.value for run in listed_runs),
        "outcomes": texts(None if run.outcome is None else run.outcome.value for run in listed_runs),
        "reasons": texts(None if run.reason is None else run.reason.value for run in listed_runs),
        "attempts": numbers(run.attempt for run in listed_runs),
        "owners": texts(run.owner for run in listed_runs),
        "leases": numbers(run.lease for run in listed_runs),
        "not_befores": numbers(run.not_before for run in listed_runs),
        "maybe_delivered_flags": truths(run.maybe_delivered for run in listed_runs),
        "changes": numbers(run.changed for run in listed_runs),
        "sents": numbers(run.sent for run in listed_runs),
        "unsents": numbers(run.unsent for run in listed_runs),
        "launcheds": numbers(run.launched for run in listed_runs),
        "failures": numbers(run.failures for run in listed_runs),
        "ends_bys": numbers(run.ends_by for run in listed_runs),
        "exclusives": truths(exclusives),
    }


def gap_columns(gaps: Sequence[tuple[str, GapRecord]]) -> dict[str, Any]:
    """Return the columns of gap records."""
    return {
        "schedules": texts(name for name, _ in gaps),
        "firsts": numbers(gap.first for _, gap in gaps),
        "lasts": numbers(gap.last for _, gap in gaps),
        "counts": numbers(gap.count for _, gap in gaps),
        "outcomes": texts(gap.outcome.value for _, gap in gaps),
        "reasons": texts(gap.reason.value for _, gap in gaps),
    }


def revision_columns(revisions: Sequence[Revision], rows: Mapping[str, JobRow]) -> dict[str, Any]:
    """Return the columns of revisions, each with its complete definition, which is given by identity."""
    return {
        **definition_columns({revision.identity: rows[revision.identity] for revision in revisions}),
        "numbers": numbers(revision.number for revision in revisions),
        "ats": numbers(revision.at for revision in revisions),
        "actors": texts(revision.actor for revision in revisions),
        "notes": texts(revision.note for revision in revisions),
        "froms": numbers(revision.cursor for revision in revisions),
    }


def action_columns(actions: Sequence[tuple[str, ScheduleAction]]) -> dict[str, Any]:
    """Return the columns of recorded actions."""
    return {
        "schedules": texts(name for name, _ in actions),
        "actions": texts(action.kind.value for _, action in actions),
        "ats": numbers(action.at for _, action in actions),
        "untils": numbers(action.until for _, action in actions),
        "actors": texts(action.actor for _, action in actions),
        "notes": texts(action.note for _, action in actions),
    }


def share_columns(share: Share) -> dict[str, Any]:
    """Return the shards and kinds of a share."""
    return {"shards": numbers(share.shards), "kinds": texts(share.kinds)}


def is_key(key: str) -> bool:
    """Return whether a text is a key as `key_bytes` accepts it."""
    return len(key) == 64 and key.isascii() and not key.strip("0123456789abcdef")
