"""Finding: what the end of a run, or a gap in the record, means for the people who are notified."""

from __future__ import annotations

from typing import NamedTuple

from kron.language.notification_form import Occasion
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome
from kron.rules.run import Run
from kron.rules.run_state import State

LATE_MS = 60_000  # milliseconds after its time from which a run is late
_FAILURES = frozenset({State.FAILED, State.LOST, State.UNKNOWN})


class Trouble(NamedTuple):
    """A problem: its occasion, and its cause. Problems of one job with the same cause are repeats."""

    occasion: Occasion
    cause: str


def trouble_of(run: Run, code: int | None) -> Trouble | None:
    """Return the problem of an ended run; None if it has none.

    Args:
        run: The run.
        code: Exit status of its last attempt; None if there is none.
    """
    if run.state in _FAILURES:
        return Trouble(Occasion.FAILURE, f"{run.state} {run.reason or ''} {'' if code is None else code}")
    if run.state is State.MISSED:
        return Trouble(Occasion.MISSED, str(run.reason or ""))
    return None


def trouble_of_gap(gap: GapRecord) -> Trouble | None:
    """Return the problem of a gap record; None if its periods were not missed."""
    return Trouble(Occasion.MISSED, str(gap.reason)) if gap.outcome is Outcome.MISSED else None


def is_late(run: Run) -> bool:
    """Return whether the first attempt of a run started more than a minute after its time."""
    return run.started is not None and run.failures == 0 and run.started - run.due > LATE_MS
