"""A process of the simulated world: it may be killed, stopped for a while, or cut off from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar

from kron.engine.launcher import Launch
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.run import Run
from kron.testing import FaultyLauncher, VirtualLoop
from tests.simulation.history import History
from tests.simulation.setting import Setting

T = TypeVar("T")


class Process:
    """Whatever it awaits goes through `wait`. After kill -9 that never ends: no answer, no cleanup, no goodbye."""

    def __init__(self, name: str, loop: VirtualLoop) -> None:
        self.name, self.loop = name, loop
        self.dead = False
        self.stop = asyncio.Event()
        self.kinds: frozenset[str] = frozenset()
        self.frozen_until = 0.0
        self.cut_off_until = 0.0

    async def wait(self, seconds: float) -> None:
        loop = self.loop
        until = loop.time() + seconds
        while not self.dead:
            sleeper = loop.create_future()
            loop.call_at(max(until, self.frozen_until), _awake, sleeper)
            await sleeper
            if loop.time() >= self.frozen_until:
                break
        if self.dead:
            await loop.never()

    # The timer of the process:

    def monotonic(self) -> float:
        return self.loop.time()

    async def sleep(self, seconds: float) -> None:
        await self.wait(seconds)

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        async with asyncio.timeout(seconds):
            return await work


def _awake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)


Strike = Callable[["Process", str], None]


class Outage:
    """Whether the store can be reached at all."""

    def __init__(self) -> None:
        self.until = 0.0
        self.sequel = 0.0  # until then sends are slow: what the store has forgotten comes back to somebody who waits


class ToStore:
    """The road from a process to the store. `strike` may hit the process right here."""

    def __init__(self, process: Process, setting: Setting, random: Random, outage: Outage, strike: Strike) -> None:
        self.process, self.setting, self.random, self.outage, self.strike = process, setting, random, outage, strike

    async def request(self, call: str) -> None:
        process, draw = self.process, self.random.random
        if draw() < self.setting.strikes:
            self.strike(process, call)
        if process.dead or process.frozen_until > process.loop.time() or draw() < 0.3:
            await process.wait(0.0005 + draw() * 0.009)
        if process.loop.time() < process.cut_off_until or process.loop.time() < self.outage.until:
            await process.wait(0.5 + draw() * 5)
            raise ConnectionError(f"{call}: unreachable")
        if draw() < self.setting.calls_lost:
            raise ConnectionError(f"{call}: aborted")

    async def response(self, call: str) -> None:
        process, draw = self.process, self.random.random
        if draw() < self.setting.strikes:
            self.strike(process, call)
        if draw() < self.setting.answers_lost:
            await process.wait(draw() * 5)
            raise ConnectionError(f"{call}: done, but the answer was lost")
        if process.dead or process.frozen_until > process.loop.time() or draw() < 0.7:
            await process.wait(0.0005 + draw() * 0.009)


class ToTarget:
    """The road from a worker to its targets: calls and answers lost, late, and twice."""

    def __init__(
        self,
        process: Process,
        setting: Setting,
        history: History,
        random: Random,
        outage: Outage,
        strike: Strike,
    ) -> None:
        self.process, self.setting, self.history, self.random = process, setting, history, random
        self.outage, self.strike = outage, strike

    async def request(self, call: str) -> None:
        await self._way(call, "call lost")

    async def response(self, call: str) -> None:
        await self._way(call, "answer lost")

    async def _way(self, call: str, fault: str) -> None:
        process, draw = self.process, self.random.random
        if draw() < self.setting.strikes * 3:
            self.strike(process, call)
        if draw() < self.setting.sends_lost:
            self.history.fault(process.loop.time(), fault, f"{call} of {process.name}")
            await process.wait(3 + draw() * 20)  # some of them longer than anybody waits
            raise ConnectionError(f"{call}: {fault}")
        late = draw() < (0.7 if process.loop.time() < self.outage.sequel else self.setting.sends_lost)
        await process.wait(draw() * 12 if late else 0.001 + draw() * (0.01 + self.setting.slow))


class Departures:
    """A launcher that is watched: which attempts were ever handed to it."""

    def __init__(self, launcher: FaultyLauncher, history: History) -> None:
        self.launcher, self.history = launcher, history

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        self.history.departed.add((launch.run.key, launch.run.attempt))
        return await self.launcher.start(launch)

    async def cancel(self, run: Run) -> None:
        await self.launcher.cancel(run)
