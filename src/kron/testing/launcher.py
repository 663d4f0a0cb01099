"""A launcher at the far end of a road."""

from __future__ import annotations

from kron.core.answer import Answer, Receipt
from kron.core.run import Run
from kron.launcher import Launch, Launcher
from kron.testing.road import Road


class FaultyLauncher:
    """The launcher, with every call and every answer on a road where they may be late or lost."""

    def __init__(self, launcher: Launcher, road: Road) -> None:
        self.launcher, self.road = launcher, road

    async def start(self, launch: Launch) -> Answer | Receipt:
        """Start it, if the call arrives; its answer, if that does."""
        await self.road.there("start")
        answer = await self.launcher.start(launch)
        await self.road.back("start")
        return answer

    async def cancel(self, run: Run) -> None:
        """End it, if the call arrives."""
        await self.road.there("cancel")
        await self.launcher.cancel(run)
        await self.road.back("cancel")
