"""The theatre: a scenario played with the real scheduler in virtual time, and the trace of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from functools import partial
from typing import Any

from kron import DeclarativeScheduler
from kron.apps.declarative.errors import SchedulerAlreadyActiveError, SchedulerError
from kron.engine.events import Event
from kron.stores.memory import MemoryStore
from kron.testing import VirtualClock, VirtualLoop, VirtualTimer
from tests.embedded.scenario import Definition, Scenario
from tests.embedded.trace import Seen, Trace

_TASK_EVENTS = {"TaskRetryPreempted": "preempted", "TaskRunCompleted": "completed", "TaskRunFailed": "failed"}
_STARTS = {"TaskRunStarted": "start", "TaskRetryStarted": "retry"}


class Life:
    """One life of a process. When it is over, whatever it awaits never comes."""

    def __init__(self, theatre: Theatre) -> None:
        self.theatre, self.dead = theatre, False
        self.doom = -1  # how many more ways to or from the store it has
        self.end = theatre.loop.create_future()
        self.announced: dict[str, tuple[str, Any]] = {}

    def die(self) -> None:
        if not self.dead:
            self.dead = True
            self.theatre.see("crash")
            self.end.set_result(None)

    async def step(self) -> None:
        self.doom -= 1
        if self.doom == 0:
            self.die()
        if self.theatre.scenario.latency and not self.dead:
            await asyncio.sleep(self.theatre.scenario.random.randrange(self.theatre.scenario.latency) / 1000)
        if self.dead:
            await self.theatre.loop.never()

    def hear(self, event: Event) -> None:
        if self.dead:
            return
        if event.name == "SchedulerInitializationCompleted":
            self.theatre.see("init ok")
        elif event.name in _STARTS:
            self.announced[event.facts["taskName"]] = _STARTS[event.name], event.facts["lastAttemptAt"]
        elif event.name in _TASK_EVENTS:
            self.theatre.see(_TASK_EVENTS[event.name], event.facts["taskName"])

    async def callback(self, name: str) -> None:
        if self.dead:
            await self.theatre.loop.never()
        scenario = self.theatre.scenario
        kind, attempt = self.announced.pop(name, ("start", self.theatre.wall()))
        self.theatre.see(kind, (name, attempt))
        await asyncio.sleep(scenario.duration(name))
        if self.dead:
            await self.theatre.loop.never()
        if scenario.random.random() < scenario.failing[name]:
            self.theatre.see("raised", name)
            raise RuntimeError(name)
        self.theatre.see("returned", name)


class Mortal:
    """A store as a life sees it, which may end on any way there or back."""

    def __init__(self, store: MemoryStore, life: Life) -> None:
        self.store, self.life = store, life

    def __getattr__(self, name: str) -> Any:
        method, step = getattr(self.store, name), self.life.step

        async def call(*given: Any, **named: Any) -> Any:
            await step()
            result = await method(*given, **named)
            await step()
            return result

        setattr(self, name, call)
        return call


class Theatre:
    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.scenario, self.loop = Scenario(seed), loop
        self.clock = VirtualClock(loop, self.scenario.start / 1000)
        self.store = MemoryStore(self.clock)
        self.trace = Trace(self.scenario.base.date, self.scenario.base.zone)
        self.life: Life | None = None
        self.scheduler: DeclarativeScheduler | None = None

    def wall(self) -> int:
        return int(self.clock.now() * 1000)  # as the scheduler reads it

    def see(self, what: str, about: Any = None) -> None:
        self.trace.seen.append(Seen(self.loop.time() * 1000, self.wall(), what, about))

    async def play(self) -> Trace:
        random = self.scenario.random
        for _ in range(self.scenario.steps):
            if self.life is None or self.life.dead:
                self.scheduler = None
            if self.scheduler is None:
                await self._begin()
            else:
                await random.choice((self._go, self._go, self._go, self._jump, self._stop, self._crash, self._again))()
        await asyncio.sleep(130)
        self.see("end")
        for _ in range(5):  # let what has been created begin, so that it can be abandoned
            await asyncio.sleep(0)
        return self.trace

    async def _begin(self) -> None:
        random = self.scenario.random
        if random.random() < 0.5:
            await asyncio.sleep(random.randrange(1, 600))
        if random.random() < 0.3:
            await self._jump()
        self.life = life = Life(self)
        store, timer = Mortal(self.store, life), VirtualTimer(self.loop)
        scheduler = DeclarativeScheduler(
            store, timezone=self.scenario.base.zone, clock=self.clock, timer=timer, on_event=life.hear
        )
        if random.random() < 0.15:
            life.doom = random.randrange(1, 40)
        kind = random.random()
        if kind < 0.06:
            await self._initialize(scheduler, self.scenario.registrations(), valid=False)
        elif kind < 0.14:
            await self._stopped_at_birth(scheduler)
        elif await self._initialize(scheduler, self.scenario.registrations()):
            self.scheduler = scheduler

    async def _initialize(self, scheduler: DeclarativeScheduler, asked: list[Definition], valid: bool = True) -> bool:
        life = self.life
        assert life is not None
        given: list[Any] = [(n, e, partial(life.callback, n), timedelta(milliseconds=d)) for n, e, d in asked]
        if not valid:
            given.insert(0, self.scenario.random.choice((("", "* * * * *", _never, timedelta(0)), ("x", "@daily"), 7)))
        self.see("init", (asked, valid))
        try:
            return await self._or_death(scheduler.initialize(given))
        except SchedulerError:
            self.see("init failed")
            return False

    async def _stopped_at_birth(self, scheduler: DeclarativeScheduler) -> None:
        beginning = asyncio.ensure_future(self._initialize(scheduler, self.scenario.registrations()))
        await asyncio.sleep(0)
        await self._stop(scheduler)
        await beginning

    async def _go(self) -> None:
        await self._or_death(asyncio.sleep(self.scenario.random.randrange(1_000, 600_000) / 1000))

    async def _jump(self) -> None:
        await asyncio.sleep(0.0005)  # never in the same instant as anything else
        self.clock.step(self.scenario.jump() / 1000)
        self.see("jump")

    async def _again(self) -> None:
        """Initialize what is initialized."""
        assert self.scheduler is not None
        try:
            await self.scheduler.initialize([])
            self.see("init", ([], True))
            self.see("init ok")
        except SchedulerAlreadyActiveError:
            self.see("init refused")

    async def _stop(self, scheduler: DeclarativeScheduler | None = None) -> None:
        stopping = scheduler or self.scheduler
        assert stopping is not None
        assert self.life is not None
        if self.scenario.random.random() < 0.1:
            self.life.doom = self.scenario.random.randrange(1, 12)
        self.see("stop")
        several = asyncio.gather(*(stopping.stop() for _ in range(self.scenario.random.randrange(1, 4))))
        if await self._or_death(several):
            self.see("stopped")
        self.scheduler = None

    async def _crash(self) -> None:
        assert self.life is not None
        if self.scenario.random.random() < 0.5:
            self.life.die()
        else:
            self.life.doom = self.scenario.random.randrange(1, 25)
            await self._go()

    async def _or_death(self, work: Awaitable[Any]) -> bool:
        """Whether it came to its end before the life did."""
        assert self.life is not None
        task = asyncio.ensure_future(work)
        await asyncio.wait([task, self.life.end], return_when=asyncio.FIRST_COMPLETED)
        if self.life.dead:
            return False
        await task
        return True


async def _never() -> None:
    raise AssertionError("an invalid registration ran")


def perform(seed: int) -> Trace:
    """The trace of a seed."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(Theatre(seed, loop).play())
    finally:
        loop.abandon()
