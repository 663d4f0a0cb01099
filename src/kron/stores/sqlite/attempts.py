"""Attempts in a SQLite file: at most 50 for each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kron.rules.attempt import Attempt
from kron.rules.run import Run
from kron.stores.codec import ATTEMPT, read_attempt
from kron.stores.sqlite.fleet import Rows


def write_attempts(rows: Rows, attempts: Iterable[tuple[Run, Attempt]]) -> None:
    """Write attempts, in the file's thread. The last result of an attempt replaces an earlier one."""
    for run, attempt in attempts:
        rows("write_attempt", key=run.key, slot=attempt.slot, **ATTEMPT.row(attempt))


def read_attempts(rows: Rows, keys: Sequence[str]) -> list[tuple[Attempt, ...]]:
    """Return the attempts of each run, in the file's thread, oldest first."""
    return [tuple(read_attempt(key, row) for row in rows("attempts", key=key)) for key in keys]
