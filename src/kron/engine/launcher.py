"""Launcher interface: launch a recorded run under its key, and report the result truthfully."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kron.engine.clock import Timer
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.timing.job import Job

MISSING_LAUNCHER_RETRY_MS = 5_000  # milliseconds until the next attempt of a run that this worker cannot launch


class Tell(Protocol):
    """Callback by which a launcher reports on the run with a key, with the exit status and the cause of a failure."""

    async def __call__(
        self, key: str, report: Report, code: int | None = None, excerpt: str = "", ended: int | None = None
    ) -> Any:
        """Report on a run. `ended` is when it ended, in milliseconds, if this is known; None: now."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Run to launch.

    After `not_after` (milliseconds) the target may reject it, because a newer attempt may be on its way.
    """

    run: Run
    job: Job
    not_after: int


class Launcher(Protocol):
    """Launcher for one kind of target. The same key can arrive twice: it must have one effect, or be rejected.

    A launcher can have more methods:

    - `names()`: the targets that it knows, if it does not know all targets of its scheme.
    - `lane(job)`: the host that a job's launches go to, for fair shares, limits and breakers.
    - `holds(key)`: whether this launcher itself is executing the run with that key.
    - `unrecorded()`: how many runs have ended here without a record of their end.

    A launcher with the attribute `is_local` starts runs on this host: failed launches do not hold its target.
    """

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        """Launch a run.

        Returns:
            `ok` if the target has accepted the run, in this or an earlier attempt. An exception counts as `unknown`.
        """

    async def cancel(self, run: Run) -> None:
        """Cancel a run if possible; best effort."""


class MissingLauncher:
    """Launcher for targets that this worker cannot launch: it sends nothing, and another worker may be able to."""

    async def start(self, launch: Launch) -> LaunchResponse:
        """Return `unsent`, with a delay until the next attempt."""
        scheme = launch.job.target.partition(":")[0]
        cause = f"this worker cannot launch {scheme!r} targets"
        return LaunchResponse(LaunchResult.UNSENT, MISSING_LAUNCHER_RETRY_MS, excerpt=cause)

    async def cancel(self, run: Run) -> None:
        """Do nothing."""


def kinds_of(launchers: Mapping[str, Launcher]) -> frozenset[str]:
    """Return the kinds of target that launchers can launch: a scheme each, or the targets that `names()` returns."""
    kinds = set[str]()
    for scheme, launcher in launchers.items():
        names = _names(launcher)
        kinds.update([scheme] if names is None else (f"{scheme}:{name}" for name in names))
    return frozenset(kinds)


def count_kinds(launchers: Mapping[str, Launcher]) -> int:
    """Return the number of kinds without building them: this is called in every pass."""
    names_by_launcher = map(_names, launchers.values())
    return sum(1 if names is None else len(names) for names in names_by_launcher)


def _names(launcher: Launcher) -> Collection[str] | None:
    names: Callable[[], Collection[str]] | None = getattr(launcher, "names", None)
    return None if names is None else names()


def is_local(launcher: Launcher) -> bool:
    """Return whether a launcher starts runs on this host."""
    return getattr(launcher, "is_local", False)


async def started(launcher: Launcher, launch: Launch, timer: Timer, seconds: float) -> LaunchResult | LaunchResponse:
    """Launch a run within a time limit. A local launcher is asked twice.

    It knows what it began, and the time may have passed while this process itself was stopped.

    Raises:
        TimeoutError: The launcher did not answer in time.
    """
    try:
        return await timer.within(seconds, launcher.start(launch))
    except TimeoutError:
        if not is_local(launcher):
            raise
    return await timer.within(seconds, launcher.start(launch))
