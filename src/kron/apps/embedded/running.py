"""The parts of a scheduler that is running: its store, its functions and the passes of its worker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from kron.apps.embedded.declared import SCHEME, Declared
from kron.apps.embedded.functions import Functions
from kron.apps.embedded.passes import Passes
from kron.apps.wiring import open_store
from kron.errors import KronError
from kron.events import Event, Sink, all_of, guarded
from kron.log_writer import log_with
from kron.maintenance import Maintenance, maintaining
from kron.registrar import Asker, Registrar
from kron.settings import Settings
from kron.stores.memory import MemoryStore
from kron.worker import Worker

if TYPE_CHECKING:
    from kron.apps.embedded.scheduler import Scheduler

ASKER = Asker("Scheduler")
LONGEST = 30.0  # seconds that another thread waits for the event loop
log = logging.getLogger("kron.scheduler")
T = TypeVar("T")
ALONE = Settings(tick=60_000, shard_lease=0)  # nobody else can have a store in memory


class Running:
    """From the opening of the store to its end."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.held = AsyncExitStack()
        self.loop = asyncio.get_running_loop()
        told, self.log = log_with(log)
        self.sink = guarded(all_of(partial(_log, told), scheduler.sink), log)
        self.shared = True  # whether other processes can have the store
        self.defining: set[asyncio.Task[None]] = set()
        self.defined_names: set[str] = set()
        self.registrar: Registrar
        self.functions: Functions
        self.passes: Passes
        self.worker: Worker
        self.working: asyncio.Task[None]

    async def begin(self) -> None:
        """Open the store, define what is declared, and work."""
        outer = self.scheduler
        store = await self.held.enter_async_context(open_store(outer.url, outer.clock))
        try:
            self.registrar = Registrar(store, self.sink)
            self.functions = Functions(outer.declared, store, outer.timer, outer.threads, self.sink)
            await self.define_all()
        except BaseException:
            await self.held.aclose()
            raise
        launchers = {SCHEME: self.functions}
        owner = f"application-{uuid4().hex}"
        self.shared = not isinstance(store, MemoryStore)
        settings = outer.settings if self.shared else ALONE
        self.worker = Worker(store, launchers, outer.timer, owner=owner, settings=settings, sink=self.sink)
        self.passes = Passes(self.worker, outer.timer)
        self.functions.ending = self.passes.nudge
        self.working = asyncio.create_task(self.passes.run())
        upkeep = Maintenance(store, outer.timer, days=outer.retention, sink=self.sink)
        await self.held.enter_async_context(maintaining(upkeep))

    @property
    def missing(self) -> list[Declared]:
        """What is declared and was never defined here."""
        known = list(self.scheduler.declared.items())  # another thread may add to it
        return [declared for name, declared in known if name not in self.defined_names]

    async def define_all(self) -> None:
        """Define what is declared."""
        for declared in self.missing:
            self.defined_names.add(declared.name)
            await self.registrar.upsert(declared.job, ASKER)

    def define(self, declared: Declared) -> None:
        """Define one more: in a moment, or at once if another thread asks. What cannot be is declared no more."""
        if current_loop() is self.loop:
            self.defining.add(self.loop.create_task(self._define(declared)))
            return
        asked = asyncio.run_coroutine_threadsafe(self._define(declared), self.loop)
        try:
            asked.result(LONGEST)
        except TimeoutError:
            asked.cancel()
            self.scheduler.declared.pop(declared.name, None)
            message = f"the job {declared.name!r} could not be added: the event loop of the scheduler does not answer"
            raise KronError("NO_ANSWER", message, hint="see what blocks it, or add the job from there") from None

    async def ask(self, question: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The answer to a question, from whatever event loop it is asked, when all that was declared is defined."""
        if asyncio.get_running_loop() is self.loop:
            return await self._ask(question)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._ask(question), self.loop))

    async def end(self, patience: float) -> None:
        """Start nothing more, wait for what runs, but not for long, and let go of the store."""
        until = self.loop.time() + patience
        self.passes.stop()
        try:
            await self._defined()
        finally:
            _, late = await asyncio.wait([self.working], timeout=max(1.0, patience))
            for pass_ in late:
                pass_.cancel()
            await self.functions.ended(until - self.loop.time())
            await self.worker.leave()
            await self.held.aclose()
            self.log.close()

    async def _ask(self, question: Callable[[], Coroutine[Any, Any, T]]) -> T:
        await self._defined()
        return await question()

    async def _defined(self) -> None:
        """Wait until all is defined; what could not be is raised."""
        while self.defining:
            await self.defining.pop()

    async def _define(self, declared: Declared) -> None:
        try:
            await self.registrar.upsert(declared.job, ASKER)
        except BaseException:
            self.scheduler.declared.pop(declared.name, None)
            raise
        self.defined_names.add(declared.name)
        self.passes.nudge()


def _log(told: Sink, event: Event) -> None:
    """Log an event, one line for each run: its start is not worth one, and a failure was logged with its traceback."""
    facts = event.facts
    started = event.name == "launch_answered" and facts["answer"] == "ok"
    failed = event.name == "run_ended" and facts["state"] == "failed" and facts.get("verdict") == "executed"
    if not started and not failed:
        told(event)


def current_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
