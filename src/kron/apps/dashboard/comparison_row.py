"""Row of a comparison: a run that a new definition adds, moves or loses."""

from __future__ import annotations

from typing import NamedTuple

from kron.apps.dashboard.time_text import duration_text
from kron.rules.comparison import Comparison
from kron.timing.due import Due

LOOKS = {"added": ("+ Added", "ok"), "moved": ("→ Moved", "run"), "lost": ("− Lost", "fail")}


class ComparisonRow(NamedTuple):
    """One run, with times in milliseconds.

    Attributes:
        kind: `added`, `moved` or `lost`.
        before: When it runs now; None if it does not.
        after: When it would run; None if it would not.
    """

    kind: str
    before: int | None
    after: int | None

    @property
    def at(self) -> int:
        """Time by which the rows are ordered."""
        return self.before if self.before is not None else self.after or 0

    @property
    def look(self) -> tuple[str, str]:
        """Word and color."""
        return LOOKS[self.kind]

    @property
    def shift(self) -> str:
        """How far a run moves, such as `+32 min`; empty for other rows."""
        if self.before is None or self.after is None:
            return ""
        milliseconds = self.after - self.before
        sign, length = "−" if milliseconds < 0 else "+", abs(milliseconds)
        return f"{sign}{duration_text(length // 1000)}" if length >= 1000 else f"{sign}{length} ms"


def rows_of(comparison: Comparison) -> list[ComparisonRow]:
    """Return the rows of a comparison in the order of time."""
    added = [ComparisonRow("added", None, due.at) for due in comparison.added]
    lost = [ComparisonRow("lost", due.at, None) for due in comparison.lost]
    return sorted([*added, *map(_moved, comparison.moved), *lost], key=lambda row: (row.at, row.kind))


def _moved(pair: tuple[Due, Due]) -> ComparisonRow:
    before, after = pair
    return ComparisonRow("moved", before.at, after.at)
