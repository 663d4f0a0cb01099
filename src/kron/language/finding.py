"""Finding: a warning or a note about a valid text."""

from __future__ import annotations

from dataclasses import dataclass

from kron.errors import Place


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning or a note: its place, its message, and a hint."""

    level: str  # warning | note
    code: str
    message: str
    place: Place
    hint: str = ""
    never_runs: bool = False  # no date satisfies the schedule
