"""An observer: what really happened in a small world of workers and targets, kept apart from what Kron records."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random

from kron.engine.launcher import Launch
from kron.engine.registrar import Registrar
from kron.errors import KronError
from kron.rules.launch_result import LaunchResult, Report
from kron.testing import VirtualClock, VirtualLoop
from kron.timing.schedule.policy import Completion
from tests.simulation.process import Process

KINDS = ("fast", "slow", "moody", "refusing", "rejecting", "raising", "hanging", "failing", "silent")


@dataclass(slots=True)
class Call:
    """A request that has left a worker for a target. Times in milliseconds; an answer of None was never given."""

    key: str
    worker: str
    begin: int
    end: int | None = None
    answer: str | None = None


@dataclass(slots=True)
class Execution:
    """What a target did for a run, until the report of its end had arrived."""

    key: str
    begin: int
    end: int | None = None
    said: Report | None = None  # what it reported, once somebody has heard of it


@dataclass(slots=True)
class Life:
    """A worker process: what it can launch, and from when to when it was there."""

    name: str
    kinds: frozenset[str]
    born: int
    died: int | None = None

    def there(self, at: int) -> bool:
        """Whether it was there for at least a second before that instant, and still is."""
        return self.born + 1_000 <= at and (self.died is None or at < self.died)


@dataclass(slots=True)
class Observer:
    """All that was seen."""

    calls: list[Call] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)

    def calls_of(self, key: str) -> list[Call]:
        """The requests for a run."""
        return [call for call in self.calls if call.key == key]

    def executions_of(self, key: str) -> list[Execution]:
        """What was done for a run."""
        return [execution for execution in self.executions if execution.key == key]

    def somebody(self, kind: str, at: int) -> bool:
        """Whether a worker was there that could launch targets of that kind."""
        return any(life.there(at) and kind in life.kinds for life in self.lives)

    def death_of(self, worker: str) -> int | None:
        """When a worker was gone."""
        return next(life.died for life in self.lives if life.name == worker)


class Target:
    """Every target: the scheme says how it behaves. What it sees, the observer sees."""

    def __init__(self, loop: VirtualLoop, clock: VirtualClock, registrar: Registrar, seen: Observer, seed: str) -> None:
        self.loop, self.clock, self.registrar, self.seen, self.random = loop, clock, registrar, seen, Random(seed)
        self.tasks: set[asyncio.Task[None]] = set()

    async def start(self, launch: Launch) -> LaunchResult:
        """Answer as targets of that kind do."""
        call = Call(launch.run.key, launch.run.owner, self._now())
        self.seen.calls.append(call)
        try:
            answer = await self._answer(launch, launch.job.target.partition(":")[0])
            call.answer = str(answer)
        finally:
            call.end = self._now()
        return answer

    async def cancel(self, run: object) -> None:
        """End nothing: what is replaced is over for Kron, whatever its target does."""

    async def _answer(self, launch: Launch, kind: str) -> LaunchResult:
        draw = self.random.random
        if kind == "refusing" or (kind == "moody" and draw() < 0.5):
            return LaunchResult.RETRYABLE
        if kind == "rejecting":
            return LaunchResult.REJECTED
        if kind in ("raising", "hanging"):
            if draw() < 0.5:
                self._begin(launch)
            if kind == "raising":
                raise ConnectionResetError("the line broke")
            await asyncio.sleep(3_600)
        await asyncio.sleep(1 if kind == "slow" else draw() * 0.2)
        self._begin(launch)
        return LaunchResult.OK

    def _begin(self, launch: Launch) -> None:
        if self.seen.executions_of(launch.run.key):
            return  # it knows the key
        execution = Execution(launch.run.key, self._now())
        self.seen.executions.append(execution)
        task = self.loop.create_task(self._work(execution, launch))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _work(self, execution: Execution, launch: Launch) -> None:
        if launch.job.schedule.policy.completion is Completion.REPORTED:
            await asyncio.sleep(float(launch.job.description or 1))
            await self._report(execution, launch)
        execution.end = self._now()  # a silent one never ends

    async def _report(self, execution: Execution, launch: Launch) -> None:
        kind = launch.job.target.partition(":")[0]
        if kind == "silent":
            await self.loop.never()
        report = Report.FAILED if kind == "failing" else Report.SUCCESS
        for _ in range(100):  # until somebody has heard of the run
            try:
                if await self.registrar.report(execution.key, report, launch.run.attempt):
                    execution.said = report
                    return
            except KronError:
                return
            await asyncio.sleep(0.5)

    def _now(self) -> int:
        return int(self.clock.now() * 1000)


class Line:
    """The line from a worker to its store and its targets: dead if the worker is, and broken if somebody says so."""

    def __init__(self, process: Process, breaks: dict[str, int] | None = None) -> None:
        self.process, self.breaks = process, breaks if breaks is not None else {}

    async def request(self, call: str) -> None:
        """On the way: a call that is to break does not arrive."""
        await self._alive()
        if self.breaks.get(call, 0) > 0:
            self.breaks[call] -= 1
            raise ConnectionError(f"{call}: the line broke")

    async def response(self, call: str) -> None:
        """The answer, if somebody is there to hear it."""
        await self._alive()

    async def _alive(self) -> None:
        if self.process.dead:
            await self.process.loop.never()
