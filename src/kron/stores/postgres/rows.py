"""Rows of PostgreSQL and the values that they stand for: the one file that knows both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from kron.core.case import Case
from kron.core.job import Job
from kron.core.outcome import Gap
from kron.core.run import OPEN, Run, State
from kron.errors import KronError
from kron.fleet import kind_of, shard_of
from kron.store import Act, Revision
from kron.stores.codec import Definition, next_at, read_case, write_job, write_owed
from kron.stores.postgres.arrays import numbers, octets, texts, truths
from kron.stores.presets import Presets

Row = Sequence[Any]
_LARGEST = (1 << 64) - 1
NEVER = (1, 0, 0, False, False, None, None, None)  # how far a definition has come by itself


def key_bytes(key: str) -> bytes:
    """A key as it is kept."""
    try:
        found = bytes.fromhex(key)
    except ValueError:
        found = b""
    if len(found) != 32 or found.hex() != key:
        hint = "a key is the SHA-256 of a period, in hexadecimal"
        raise KronError("NOT_STORABLE", f"{key!r} is not a key", hint=hint)
    return found


def fold(runs: Iterable[Run]) -> int:
    """Open runs and their tokens as one number, whatever their order; a change of one of them is a difference to it."""
    seen = 0
    for run in runs:
        if run.state in OPEN:
            seen ^= int(run.key[:16], 16) * _token(run.state, run.attempt, run.owner, run.lease)
    seen &= _LARGEST
    return seen - _LARGEST - 1 if seen > _LARGEST >> 1 else seen


@lru_cache(4_096)
def _token(state: State, attempt: int, owner: str, lease: int | None) -> int:
    """A token as an odd number: times a key, which is a digest itself, it is a digest of both."""
    token = f"{state.value}:{attempt}:{owner}:{lease}"
    return int.from_bytes(sha256(token.encode()).digest()[:8], "big") | 1


def digest(definition: Definition) -> int:
    """What a definition is, as one number."""
    return int.from_bytes(sha256(repr(tuple(definition)).encode()).digest()[:8], "big", signed=True)


def read_job(row: Row, presets: Presets) -> tuple[tuple[str, int], Job]:
    """A definition, and the name and number that it goes by."""
    identity, number, *definition = row
    try:
        job = _defined(presets, *definition)
    except KronError:
        job = read_case((identity, *definition, *NEVER), presets).job  # which says whose it is
    return (identity, number), borne_by(identity, job)


def borne_by(identity: str, job: Job) -> Job:
    """The same definition under another name."""
    return Job(identity, job.schedule, job.name, job.description, job.command, job.target, job.start, job.end)


@lru_cache(16_384)
def _defined(presets: Presets, *definition: Any) -> Job:
    """What a definition says, whoever bears it: in a large table many are alike."""
    return read_case(("", *definition, *NEVER), presets).job


def definitions(jobs: Sequence[Job]) -> dict[str, Any]:
    """The columns of what schedules are."""
    rows = [write_job(job) for job in jobs]
    (text, dialect, zone, policy, name, description, command, target, start, end) = zip(*rows, strict=True)
    return {
        "schedules": texts(job.identity for job in jobs),
        "digests": numbers(map(digest, rows)),
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
    }


def standings(
    cases: Sequence[Case], seens: Iterable[int], reaches: Iterable[int], nexts: Iterable[int | None] | None = None
) -> dict[str, Any]:
    """The columns of how far schedules have come."""
    return {
        "schedules": texts(case.identity for case in cases),
        "revisions": numbers(case.revision for case in cases),
        "cursors": numbers(case.cursor for case in cases),
        "sinces": numbers(case.since for case in cases),
        "paused": truths(case.paused for case in cases),
        "deleted": truths(case.deleted for case in cases),
        "wakes": numbers(case.wake for case in cases),
        "untils": numbers(case.until for case in cases),
        "seens": numbers(seens),
        "reaches": numbers(reaches),
        "oweds": texts(write_owed(case.owed) for case in cases),
        "kinds": texts(kind_of(case.job.target) for case in cases),
        "shards": numbers(shard_of(case.identity) for case in cases),
        "nexts": numbers(map(next_at, cases) if nexts is None else nexts),
    }


def alike(runs: Iterable[tuple[Run, bool]]) -> list[dict[str, Any]]:
    """New runs, each with whether it must be alone, in groups that differ in little: the columns of each group."""
    groups: dict[tuple[tuple[Any, ...], tuple[Any, ...], bool], list[Run]] = {}
    for run, alone in runs:
        same = run[5:12], run[13:], alone  # all but whose it is, its times, and when it may be sent
        if same in groups:
            groups[same].append(run)
        else:
            groups[same] = [run]
    return [_group(*same, group) for same, group in groups.items()]


def _group(front: tuple[Any, ...], back: tuple[Any, ...], alone: bool, runs: list[Run]) -> dict[str, Any]:
    state, trigger, verdict, reason, attempt, owner, lease = front
    doubt, created, changed, sent, unsent = back
    return {
        "schedules": texts([run.identity for run in runs]),
        "nominals": numbers([run.nominal for run in runs]),
        "dues": numbers([run.due for run in runs]),
        "revisions": numbers([run.revision for run in runs]),
        "keys": octets([key_bytes(run.key) for run in runs]),
        "not_befores": numbers([run.not_before for run in runs]),
        "status": state.value,
        "trigger": trigger,
        "outcome": None if verdict is None else verdict.value,
        "reason": None if reason is None else reason.value,
        "attempt": attempt,
        "owner": owner,
        "lease": lease,
        "doubt": doubt,
        "created": created,
        "changed": changed,
        "sent": sent,
        "unsent": unsent,
        "alone": alone,
    }


def requests(runs: Sequence[Run]) -> dict[str, Any]:
    """The columns of what was asked for by hand."""
    return {
        "keys": octets(key_bytes(run.key) for run in runs),
        "schedules": texts(run.identity for run in runs),
        "nominals": numbers(run.nominal for run in runs),
    }


def periods(runs: Iterable[Run]) -> dict[str, Any]:
    """The columns that name runs by their periods."""
    found = list(runs)
    return {
        "schedules": texts(run.identity for run in found),
        "nominals": numbers(run.nominal for run in found),
        "triggers": texts(run.trigger for run in found),
    }


def moves(runs: Iterable[tuple[Run, bool]]) -> dict[str, Any]:
    """The columns of runs that go on, each with whether it must be alone from now on."""
    found, alones = zip(*runs, strict=True)
    return {
        **periods(found),
        "statuses": texts(run.state.value for run in found),
        "outcomes": texts(None if run.verdict is None else run.verdict.value for run in found),
        "reasons": texts(None if run.reason is None else run.reason.value for run in found),
        "attempts": numbers(run.attempt for run in found),
        "owners": texts(run.owner for run in found),
        "leases": numbers(run.lease for run in found),
        "not_befores": numbers(run.not_before for run in found),
        "doubts": truths(run.doubt for run in found),
        "changes": numbers(run.changed for run in found),
        "sents": numbers(run.sent for run in found),
        "unsents": numbers(run.unsent for run in found),
        "alones": truths(alones),
    }


def dropped(gaps: Sequence[tuple[str, Gap]]) -> dict[str, Any]:
    """The columns of gaps."""
    return {
        "schedules": texts(name for name, _ in gaps),
        "firsts": numbers(gap.first for _, gap in gaps),
        "lasts": numbers(gap.last for _, gap in gaps),
        "counts": numbers(gap.count for _, gap in gaps),
        "outcomes": texts(gap.verdict.value for _, gap in gaps),
        "reasons": texts(gap.reason.value for _, gap in gaps),
    }


def revised(revisions: Sequence[Revision]) -> dict[str, Any]:
    """Return the columns of revisions: each with its complete definition."""
    return {
        **definitions([revision.job for revision in revisions]),
        "numbers": numbers(revision.number for revision in revisions),
        "ats": numbers(revision.at for revision in revisions),
        "whos": texts(revision.who for revision in revisions),
        "notes": texts(revision.note for revision in revisions),
        "froms": numbers(revision.cursor for revision in revisions),
    }


def acted(acts: Sequence[tuple[str, Act]]) -> dict[str, Any]:
    """The columns of acts."""
    return {
        "schedules": texts(name for name, _ in acts),
        "deeds": texts(act.deed.value for _, act in acts),
        "ats": numbers(act.at for _, act in acts),
        "untils": numbers(act.until for _, act in acts),
        "whos": texts(act.who for _, act in acts),
        "notes": texts(act.note for _, act in acts),
    }
