"""The parts of a scheduler that is running: its store, its functions and the passes of its worker."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from uuid import uuid4

from kron.apps.embedded.declared import SCHEME, Declared
from kron.apps.embedded.functions import Functions
from kron.apps.embedded.passes import Passes
from kron.apps.wiring import open_store
from kron.maintenance import Maintenance, maintaining
from kron.registrar import Asker, Registrar
from kron.settings import Settings
from kron.stores.memory import MemoryStore
from kron.worker import Worker

if TYPE_CHECKING:
    from kron.apps.embedded.scheduler import Scheduler

ASKER = Asker("Scheduler")
ALONE = Settings(tick=60_000, shard_lease=0)  # nobody else can have a store in memory


class Running:
    """From the opening of the store to its end."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.held = AsyncExitStack()
        self.defining: set[asyncio.Task[None]] = set()
        self.registrar: Registrar
        self.functions: Functions
        self.passes: Passes
        self.working: asyncio.Task[None]

    async def begin(self) -> None:
        """Open the store, define what is declared, and work."""
        outer = self.scheduler
        store = await self.held.enter_async_context(open_store(outer.url, outer.clock))
        try:
            self.registrar = Registrar(store)
            self.functions = Functions(outer.declared, store, outer.timer)
            for declared in list(outer.declared.values()):
                await self.registrar.upsert(declared.job, ASKER)
        except BaseException:
            await self.held.aclose()
            raise
        launchers = {SCHEME: self.functions}
        owner = f"application-{uuid4().hex}"
        settings = ALONE if isinstance(store, MemoryStore) else outer.settings
        worker = Worker(store, launchers, outer.timer, owner=owner, settings=settings, sink=outer.sink)
        self.passes = Passes(worker, outer.timer)
        self.functions.ending = self.passes.nudge
        self.working = asyncio.create_task(self.passes.run())
        upkeep = Maintenance(store, outer.timer, days=outer.retention, sink=outer.sink)
        await self.held.enter_async_context(maintaining(upkeep))

    def define(self, declared: Declared) -> None:
        """Define one more, in a moment."""
        self.defining.add(asyncio.create_task(self._define(declared)))

    async def defined(self) -> None:
        """Wait until all is defined; what could not be is raised."""
        while self.defining:
            await self.defining.pop()

    async def end(self, patience: float) -> None:
        """Start nothing more, wait for what runs, and let go of the store."""
        self.passes.stop()
        try:
            await self.defined()
        finally:
            await self.working
            await self.functions.ended(patience)
            await self.held.aclose()

    async def _define(self, declared: Declared) -> None:
        await self.registrar.upsert(declared.job, ASKER)
        self.passes.nudge()
