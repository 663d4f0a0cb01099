"""Counters of outcomes in SQLite, and how the last period of each schedule ended. Written with the ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kron.engine.overview import merged_before
from kron.rules.tally import End, tally

Rows = Callable[..., list[tuple[Any, ...]]]


def write_ends(rows: Rows, ends: Sequence[End]) -> None:
    """Write how the last periods of schedules ended, and count the ends."""
    for identity, state in {end.identity: end.state.value for end in ends}.items():
        rows("write_last_state", schedule_id=identity, last=state)
    for (scope, minute, state, reason), count in tally(ends).items():
        rows("count_outcome", scope=scope, minute=minute, status=state.value, reason=reason, count=count)


def merge_minutes(rows: Rows, now: int, limit: int) -> bool:
    """Merge old counters to quarters of an hour. Returns whether there can be more."""
    fine_counts = rows("fine_outcome_counts", upto=merged_before(now), limit=limit)
    for scope, minute, status, reason, count in fine_counts:
        key = {"scope": scope, "status": status, "reason": reason}
        rows("count_outcome", **key, minute=minute - minute % 15, count=count)
        rows("remove_outcome_count", **key, minute=minute)
    return len(fine_counts) == limit
