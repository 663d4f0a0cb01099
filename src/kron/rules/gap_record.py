"""Gap record: one record for many periods that ended alike."""

from __future__ import annotations

from dataclasses import dataclass

from kron.rules.outcome import Outcome, Reason


@dataclass(frozen=True, slots=True)
class GapRecord:
    """One record for `count` periods, from `first` to `last` (seconds), with the same outcome and reason."""

    first: int
    last: int
    count: int
    outcome: Outcome
    reason: Reason
