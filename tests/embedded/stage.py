"""A stage for the scheduler: virtual time, a store that outlives it, and tasks that remember when they ran."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from kron import DeclarativeScheduler
from kron.apps.declarative.persisted import TaskRecord, read_record
from kron.engine.events import Memory
from kron.stores.memory import MemoryStore
from kron.testing import VirtualClock, VirtualLoop, VirtualTimer
from kron.timing.zone import instant_of, rfc3339
from tests.embedded.theatre import Mortal

BERLIN = "Europe/Berlin"


class Life:
    """A process that can be killed: whatever it awaits of the store then never comes."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.dead = stage, False

    async def step(self) -> None:
        if self.dead:
            await self.stage.loop.never()

    def hear(self, event: Any) -> None:
        if not self.dead:
            self.stage.heard(event)


class Stage:
    def __init__(self, loop: VirtualLoop, now: str, zone: str) -> None:
        self.loop, self.zone = loop, zone
        self.clock, self.timer = VirtualClock(loop, instant_of(now)), VirtualTimer(loop)
        self.store = MemoryStore(self.clock)
        self.heard = Memory()
        self.ran: list[tuple[str, str]] = []  # name, when it started
        self.going: set[str] = set()
        self.most: int = 0  # at once
        self.life = Life(self)

    def scheduler(self, **more: Any) -> DeclarativeScheduler:
        """A scheduler of a new life."""
        self.life = Life(self)
        store = Mortal(more.pop("store", self.store), self.life)
        given = {"timezone": self.zone, "clock": self.clock, "timer": self.timer, "on_event": self.life.hear} | more
        return DeclarativeScheduler(store, **given)

    def kill(self) -> None:
        """kill -9 of the life that is going."""
        self.life.dead = True
        self.going.clear()

    def task(self, name: str, cron: str, delay: float = 0, *, lasts: float = 0, fails: int = 0) -> tuple[Any, ...]:
        """A registration. Its callback lasts so many seconds, and fails so many times before it succeeds."""
        left = [fails]

        async def callback() -> None:
            life = self.life
            assert name not in self.going, "it runs beside itself"
            self.ran.append((name, self.now()))
            self.going.add(name)
            self.most = max(self.most, len(self.going))
            if lasts:
                await asyncio.sleep(lasts)
            if life.dead:
                await self.loop.never()
            self.going.discard(name)
            if left[0]:
                left[0] -= 1
                raise RuntimeError("it failed")

        return name, cron, callback, timedelta(seconds=delay)

    def now(self) -> str:
        return rfc3339(int(self.clock.now()))

    async def until(self, text: str) -> None:
        await asyncio.sleep(instant_of(text) - self.clock.now())

    async def record(self, name: str) -> TaskRecord:
        found = await read_record(self.store, name)
        assert found is not None
        return found

    def times(self, name: str = "a") -> list[str]:
        """When a task started, without the date where that goes without saying."""
        return [when for who, when in self.ran if who == name]

    def events(self) -> list[str]:
        return [event.name for event in self.heard.events]


def play(script: Callable[[Stage], Awaitable[Any]], now: str = "2026-03-10T12:00:20Z", zone: str = "UTC") -> Stage:
    """Let a script happen on a stage of its own."""
    loop = VirtualLoop()
    stage = Stage(loop, now, zone)
    try:
        loop.run_until_complete(_played(script, stage))
    finally:
        loop.abandon()
    return stage


async def _played(script: Callable[[Stage], Awaitable[Any]], stage: Stage) -> None:
    await script(stage)
    for _ in range(5):
        await asyncio.sleep(0)
