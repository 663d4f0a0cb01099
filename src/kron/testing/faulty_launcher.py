"""Launcher behind an unreliable network."""

from __future__ import annotations

from kron.engine.launcher import Launch, Launcher
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.run import Run
from kron.testing.network import Network


class FaultyLauncher:
    """Launcher whose calls and responses pass through a network that can delay or lose them."""

    def __init__(self, launcher: Launcher, road: Network) -> None:
        self.launcher, self.road = launcher, road

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        """Launch the run if the call arrives, and return the launcher's response if the response arrives."""
        await self.road.request("start")
        answer = await self.launcher.start(launch)
        await self.road.response("start")
        return answer

    async def cancel(self, run: Run) -> None:
        """Cancel the run if the call arrives."""
        await self.road.request("cancel")
        await self.launcher.cancel(run)
        await self.road.response("cancel")
