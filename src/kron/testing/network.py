"""Networks for fault injection: what happens to a call on its way, and to its response on the way back."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from kron.engine.clock import Timer


class Network(Protocol):
    """Network between a caller and a component. Each direction can take time, raise, or never return."""

    async def request(self, call: str) -> None:
        """Deliver a call. If this raises, the call never arrives."""

    async def response(self, call: str) -> None:
        """Deliver the response. If this raises, the call has done its work nevertheless."""


class ReliableNetwork:
    """Network without delays and losses."""

    async def request(self, call: str) -> None:
        """Deliver the call at once."""

    async def response(self, call: str) -> None:
        """Deliver the response at once."""


@dataclass(frozen=True, slots=True)
class FaultProfile:
    """Delays of a network, in seconds per direction, and its loss probabilities, from 0 to 1."""

    shortest: float = 0.0
    longest: float = 0.0
    calls_lost: float = 0.0
    answers_lost: float = 0.0


class FaultyNetwork:
    """Network that delays and loses calls and responses at random. The same seed gives the same faults."""

    def __init__(self, timer: Timer, rough: FaultProfile, seed: int) -> None:
        self.timer, self.rough, self.random = timer, rough, Random(seed)  # noqa: S311  a simulation

    async def request(self, call: str) -> None:
        """Deliver the call after a delay. Raises ConnectionError if it is lost."""
        await self._deliver(self.rough.calls_lost, f"{call}: the call was lost")

    async def response(self, call: str) -> None:
        """Deliver the response after a delay. Raises ConnectionError if it is lost."""
        await self._deliver(self.rough.answers_lost, f"{call}: the response was lost")

    async def _deliver(self, lost: float, message: str) -> None:
        await self.timer.sleep(self.random.uniform(self.rough.shortest, self.rough.longest))
        if self.random.random() < lost:
            raise ConnectionError(message)
