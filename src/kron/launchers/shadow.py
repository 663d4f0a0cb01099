"""Shadow launcher: it starts nothing. A daemon that has it records what it would have started, while cron works."""

from __future__ import annotations

from asyncio import Task

from kron.engine.launcher import Launch
from kron.rules.launch_result import LaunchResult
from kron.rules.run import Run

SHADOW_SCHEME = "shadow"  # no other launcher has it, so that no worker can start the jobs of a shadow store


class ShadowLauncher:
    """Launcher whose runs end at once, as skipped."""

    is_local = True

    def __init__(self) -> None:
        self.tasks: dict[str, Task[None]] = {}  # none: nothing runs

    async def start(self, launch: Launch) -> LaunchResult:
        """Start nothing."""
        return LaunchResult.SHADOW

    async def cancel(self, run: Run) -> None:
        """Do nothing: nothing runs."""
