"""Conformance: the tests that a document defines, run by their ids against this very installation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Pairs = Iterable[tuple[object, object]]  # what was found, what the document asks for


@dataclass(frozen=True, slots=True)
class Check:
    """A test of the document: its id, the levels it counts for, its words, and what it compares."""

    id: str
    first: int
    last: int
    says: str
    compares: Callable[[], Pairs]

    @property
    def levels(self) -> str:
        """As the document's checklist writes them: `2`, or `1-3`."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a check; `fault` is empty if it passed."""

    check: Check
    fault: str

    @property
    def passed(self) -> bool:
        """Whether everything that it compared was equal."""
        return not self.fault


@dataclass(frozen=True, slots=True)
class Report:
    """All results, and the level that they allow to declare."""

    document: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return sum(result.passed for result in self.results)

    @property
    def level(self) -> int:
        """The highest level whose own checks, and those of all lower levels, passed; 0 if not even the first did."""
        failed = min((result.check.first for result in self.results if not result.passed), default=None)
        return max(result.check.last for result in self.results) if failed is None else failed - 1


def conform(document: str, checks: Sequence[Check]) -> Report:
    """Run every check. One that stumbles has failed, and says over what."""
    return Report(document, tuple(Result(check, _fault(check)) for check in checks))


def _fault(check: Check) -> str:
    try:
        for found, wanted in check.compares():
            if found != wanted:
                return f"found {found!r}, not {wanted!r}"
    except Exception as error:  # a report must be complete, whatever is broken
        return f"{type(error).__name__}: {error}"
    return ""
