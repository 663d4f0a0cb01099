"""Conformance: the tests that a specification document defines, run by id against this installation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Pairs = Iterable[tuple[object, object]]  # actual value, value that the document requires


@dataclass(frozen=True, slots=True)
class Check:
    """Test of the document: its id, the levels that it counts for, its text, and what it compares."""

    id: str
    first: int
    last: int
    says: str
    compares: Callable[[], Pairs]

    @property
    def levels(self) -> str:
        """Levels as the document's checklist writes them: `2`, or `1-3`."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a check; `fault` is empty if it passed."""

    check: Check
    fault: str

    @property
    def passed(self) -> bool:
        """Whether all compared values were equal."""
        return not self.fault


@dataclass(frozen=True, slots=True)
class Report:
    """All results, and the conformance level that they support."""

    document: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> int:
        """Number of checks that passed."""
        return sum(result.passed for result in self.results)

    @property
    def level(self) -> int:
        """Highest level whose checks, and those of all lower levels, passed; 0 if a check of level 1 failed."""
        failed = min((result.check.first for result in self.results if not result.passed), default=None)
        return max(result.check.last for result in self.results) if failed is None else failed - 1


def conform(document: str, checks: Sequence[Check]) -> Report:
    """Run every check. A check that raises an exception has failed with that exception as its fault."""
    return Report(document, tuple(Result(check, _fault(check)) for check in checks))


def _fault(check: Check) -> str:
    try:
        for actual, expected in check.compares():
            if actual != expected:
                return f"found {actual!r}, not {expected!r}"
    except Exception as error:  # the report must be complete even if a check crashes
        return f"{type(error).__name__}: {error}"
    return ""
