"""What Kron asks of a launcher: start what is recorded, under its key, and say honestly what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kron.core.answer import Answer, Receipt, Report
from kron.core.job import Job
from kron.core.run import Run

Tell = Callable[[str, Report], Awaitable[Any]]  # how a launcher that follows its runs says what became of a key


@dataclass(frozen=True, slots=True)
class Launch:
    """A run to be started, and the millisecond after which the target may refuse it: a newer try may be out."""

    run: Run
    job: Job
    not_after: int


class Launcher(Protocol):
    """Starts runs of one kind of target. The same key may come twice; it must have one effect, or be refused."""

    async def start(self, launch: Launch) -> Answer | Receipt:
        """Start it; ok if the target has it, also from an earlier attempt. An exception counts as unknown."""

    async def cancel(self, run: Run) -> None:
        """End it, if that can be done; best effort."""


class Nobody:
    """What a worker has for targets that it does not know: certainly nothing was sent, and another worker may know."""

    async def start(self, launch: Launch) -> Answer:
        """Not here, and not now."""
        return Answer.RETRYABLE

    async def cancel(self, run: Run) -> None:
        """There is nothing to end."""
