"""Figures, and the table that shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HEADER = f"{'figure':58} {'target':>9} {'':5} {'kron-operator':>14} {'CronJob ctrl':>13}  verdict"


@dataclass(frozen=True)
class Figure:
    """A measured figure, the highest one that is wanted, and that of the CronJob controller. None: not measured."""

    name: str
    unit: str
    kron: float
    target: float | None = None
    cronjob: float | None = None
    cronjob_exceeds: bool = False  # the CronJob controller had not finished when the measurement ended
    is_count: bool = False  # of mistakes: judged in a short run, too

    @property
    def reached(self) -> bool:
        """Whether the target is reached. A figure without a target is shown only."""
        return self.target is None or self.kron <= self.target

    def __str__(self) -> str:
        cronjob = "-" if self.cronjob is None else f"{'>' if self.cronjob_exceeds else ''}{self.cronjob:.4g}"
        target = "-" if self.target is None else f"<= {self.target:.4g}"
        verdict = "" if self.target is None else "reached" if self.reached else "MISSED"
        return f"{self.name:58} {target:>9} {self.unit:5} {self.kron:14.4g} {cronjob:>13}  {verdict}".rstrip()


def table(figures: Iterable[Figure]) -> str:
    """Return the table."""
    return "\n".join([HEADER, *map(str, figures)])


def percentile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed; infinite if there is none."""
    ordered = sorted(values)
    return ordered[max(0, -int(-len(ordered) * share // 1) - 1)] if ordered else float("inf")
