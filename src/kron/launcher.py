"""What Kron asks of a launcher: start what is recorded, under its key, and say honestly what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kron.core.answer import Answer, Receipt, Report
from kron.core.job import Job
from kron.core.run import Run

MISSING_FOR = 5_000  # milliseconds until a run is looked at again that nobody here can launch
Tell = Callable[[str, Report], Awaitable[Any]]  # how a launcher that follows its runs says what became of a key


@dataclass(frozen=True, slots=True)
class Launch:
    """A run to be started, and the millisecond after which the target may refuse it: a newer try may be out."""

    run: Run
    job: Job
    not_after: int


class Launcher(Protocol):
    """Starts runs of one kind of target. The same key may come twice; it must have one effect, or be refused.

    A launcher may have more methods: `names()`, the targets that it knows, if it does not know all of its scheme;
    `lane(job)`, the host that a job goes to, for fair shares; `holds(key)`, whether it is running that key itself.
    """

    async def start(self, launch: Launch) -> Answer | Receipt:
        """Start it; ok if the target has it, also from an earlier attempt. An exception counts as unknown."""

    async def cancel(self, run: Run) -> None:
        """End it, if that can be done; best effort."""


class Missing:
    """What a worker has for targets that it cannot launch: nothing was sent, and another worker may be able to."""

    async def start(self, launch: Launch) -> Receipt:
        """Not here, and not now."""
        return Receipt(Answer.UNSENT, MISSING_FOR)

    async def cancel(self, run: Run) -> None:
        """There is nothing to end."""


def kinds_of(launchers: Mapping[str, Launcher]) -> frozenset[str]:
    """The kinds of target that launchers can launch: a scheme each, or the names that the launcher says it knows."""
    found = set[str]()
    for scheme, launcher in launchers.items():
        names = _names(launcher)
        found.update([scheme] if names is None else (f"{scheme}:{name}" for name in names))
    return frozenset(found)


def count_kinds(launchers: Mapping[str, Launcher]) -> int:
    """How many kinds there are, without naming them: asked in every pass."""
    names = map(_names, launchers.values())
    return sum(1 if known is None else len(known) for known in names)


def _names(launcher: Launcher) -> Collection[str] | None:
    names: Callable[[], Collection[str]] | None = getattr(launcher, "names", None)
    return None if names is None else names()
