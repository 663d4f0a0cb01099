"""Roads: what may happen to a call on its way there, and to its answer on the way back."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from kron.clock import Timer


class Road(Protocol):
    """What lies between a caller and what it calls. Either way may take time, raise, or never end."""

    async def there(self, call: str) -> None:
        """The way of a call. If it raises, the call never arrives."""

    async def back(self, call: str) -> None:
        """The way of its answer. If it raises, the call has done its work all the same."""


class Clear:
    """Nothing happens on it."""

    async def there(self, call: str) -> None:
        """The call arrives."""

    async def back(self, call: str) -> None:
        """So does its answer."""


@dataclass(frozen=True, slots=True)
class Rough:
    """How bad a road is: how long a way takes in seconds, and how often it is lost, from 0 to 1."""

    shortest: float = 0.0
    longest: float = 0.0
    calls_lost: float = 0.0
    answers_lost: float = 0.0


class RoughRoad:
    """A road on which calls and answers are late or lost, by chance: the same seed, the same chances."""

    def __init__(self, timer: Timer, rough: Rough, seed: int) -> None:
        self.timer, self.rough, self.random = timer, rough, Random(seed)  # noqa: S311  a simulation

    async def there(self, call: str) -> None:
        """The call arrives late, or is lost."""
        await self._way(self.rough.calls_lost, f"{call}: the call was lost")

    async def back(self, call: str) -> None:
        """The answer arrives late, or is lost."""
        await self._way(self.rough.answers_lost, f"{call}: the answer was lost")

    async def _way(self, lost: float, message: str) -> None:
        await self.timer.sleep(self.random.uniform(self.rough.shortest, self.rough.longest))
        if self.random.random() < lost:
            raise ConnectionError(message)
