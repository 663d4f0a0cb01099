"""A simulated cluster: real workers and registrars over a store in memory, in virtual time, under a chaos."""

from __future__ import annotations

import gc
import logging
import traceback
from dataclasses import dataclass, field
from random import Random

from kron.engine.events import Event
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.errors import KronError
from kron.rules.state import ScheduleState
from kron.stores.memory import MemoryStore
from kron.testing import FaultyLauncher, FaultyStore, VirtualClock, VirtualLoop
from tests.simulation.health import Life
from tests.simulation.history import History
from tests.simulation.process import Departures, Outage, Process, ToStore, ToTarget
from tests.simulation.reversible import Reversible
from tests.simulation.scenario import job_of
from tests.simulation.setting import Setting
from tests.simulation.target import Target
from tests.simulation.watched import Watched

KINDS = (frozenset({"keyed", "command"}), frozenset({"keyed"}), frozenset({"command"}))  # of workers, where they differ
logging.getLogger("kron.engine.events").addHandler(logging.NullHandler())  # where observers that fail are reported
logging.getLogger("kron.engine.events").propagate = False
MOST_TICKS = 10  # of all workers in one second, on average: more is a loop that gets nowhere


def crashed(text: str) -> bool:
    """Whether a text tells of code that does not fit together, as a planted bug does once the engine has changed."""
    return any(
        name in text for name in ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "ImportError")
    )


@dataclass(frozen=True, slots=True)
class Parts:
    """What the cluster is made of; a mutant has another part."""

    store: type[MemoryStore] = MemoryStore
    worker: type[Worker] = Worker
    registrar: type[Registrar] = Registrar


@dataclass(slots=True)
class Result:
    """What a simulation leaves behind for the checker."""

    setting: Setting
    history: History
    cases: dict[str, ScheduleState]
    calm_since: float  # the loop's time at which the faults ended
    calm_from: int  # and the store's
    end: float
    shown: int  # the store's time at the end
    broken: list[str] = field(default_factory=list)  # what the cluster itself noticed
    calls: int = 0


class World:
    """All of it."""

    def __init__(self, setting: Setting, parts: Parts | None = None) -> None:
        self.setting, self.parts = setting, parts or Parts()
        parts = self.parts
        self.random = Random(f"world {setting.seed}")
        self.loop, self.history, self.outage = VirtualLoop(), History(), Outage()
        self.clock = VirtualClock(self.loop, setting.start)
        self.store = parts.store(self.clock)
        self.reversible = Reversible(self.store) if setting.lossy else None
        skew = self.random.uniform(-1, 1)
        reports = FaultyStore(self._watched("target"), self._road(Process("target", self.loop)))
        self.target = Target(
            self.loop,
            setting,
            self.history,
            Random(f"target {setting.seed}"),
            parts.registrar(reports),
            lambda: (self.clock.now() if setting.wild else setting.start + self.loop.time()) + skew,
        )
        self.workers: dict[int, Process] = {}
        self.lives = self.requests = self.ticks = 0
        self.broken: list[str] = []
        self.calm = False
        self.deafness = Random(f"deaf {setting.seed}")

    def run(self) -> Result:
        gc.disable()  # there are no cycles worth the search, and a seed is soon over
        try:
            return self.loop.run_until_complete(self._main())
        finally:
            self.loop.abandon()
            gc.enable()

    async def _main(self) -> Result:
        setting = self.setting
        for n in range(setting.schedules):
            self._request("upsert", f"s{n}", wait=self.random.random() * 100 if n else 0)
        for n in range(setting.workers):
            self._start(n)
        self.loop.create_task(self._restarts())
        end = setting.hours * 3600
        if setting.faults:
            chaos = self.loop.create_task(self._chaos(end))
            requests = self.loop.create_task(self._requests(end))
            await chaos
            await requests
        await _until(self.loop, end)
        since, shown = self._quiesce()
        await _until(self.loop, end + setting.calm * 3600)
        cases = {case.identity: case for case in await self.store.get(list(self.store.cases)) if case}
        now = self.loop.time()
        return Result(setting, self.history, cases, since, shown, now, await self.store.now(), self.broken, self.ticks)

    def _quiesce(self) -> tuple[float, int]:
        self.calm = self.target.calm = True
        return self.loop.time(), int(self.clock.now() * 1000)

    # Processes

    def _start(self, n: int) -> None:
        self.lives += 1
        process = Process(f"w{n}.{self.lives}", self.loop)
        process.kinds = KINDS[n % 3] if self.setting.mixed else KINDS[0]
        self.workers[n] = process
        self.history.health.lives[process.name] = Life(process.kinds, self.loop.time())
        self.loop.create_task(self._live(process))

    async def _restarts(self) -> None:
        """Now and then a worker is restarted in good order, also when all is calm."""
        random = Random(f"restarts {self.setting.seed}")
        while True:
            await _until(self.loop, self.loop.time() + random.expovariate(1 / 1_200))
            process = self.workers[random.randrange(self.setting.workers)]
            if not process.dead and process.frozen_until <= self.loop.time():
                self._fault("restarted", process.name)
                process.stop.set()

    async def _live(self, process: Process) -> None:
        setting, name = self.setting, process.name
        store = FaultyStore(self._watched(name), self._road(process))
        launcher = FaultyLauncher(self.target, self._to_target(process))
        shares = {"lookahead": setting.lookahead, "shard_lease": setting.tick * 5 // 2}
        settings = Settings(
            tick=setting.tick, batch=setting.batch, max_concurrent_launches=setting.max_concurrent_launches, **shares
        )
        launchers = dict.fromkeys(process.kinds, Departures(launcher, self.history))
        worker = self.parts.worker(store, launchers, process, owner=name, settings=settings, sink=self._heard)
        await worker.run(process.stop)
        if not process.dead:
            self._kill(process)

    def _heard(self, event: Event) -> None:
        error = str(event.facts.get("error", ""))
        if crashed(error) or (event.name == "pass_failed" and "ConnectionError" not in error):
            self._broke(f"{event.name}: {error}")
        if event.name == "pass":
            self._count()
        if self.setting.deaf and self.deafness.random() < 0.05:
            raise OSError("the disk of an observer is full")

    def _count(self) -> None:
        self.ticks += 1
        if self.ticks > MOST_TICKS * (self.loop.time() + 60):
            raise RuntimeError("the workers turn in a loop that gets nowhere")

    def _broke(self, text: str) -> None:
        if len(self.broken) < 20:
            self.broken.append(text)

    def _watched(self, who: str) -> Watched:
        return Watched(self.store, self.history, who)

    def _road(self, process: Process) -> ToStore:
        random = Random(f"road {self.setting.seed} {process.name}")
        return _Calming(ToStore(process, self.setting, random, self.outage, self._strike), self)

    def _to_target(self, process: Process) -> ToTarget:
        random = Random(f"send {self.setting.seed} {process.name}")
        return _Calming(ToTarget(process, self.setting, self.history, random, self.outage, self._strike), self)

    # Faults

    def _strike(self, process: Process, call: str) -> None:
        """A process is hit right at a call, or right before its answer."""
        if process.dead or process.name == "target":
            return
        if self.reversible and call == "start" and self.random.random() < 0.5:  # and the store loses the claim
            self._fault("commits lost")
            self._outage(1)
            self.outage.sequel = self.loop.time() + 60
            self._take_back(self.random.uniform(0, 5))
        if self.random.random() < 0.5:
            self._fault("killed at a call", f"{process.name} {call}")
            self._kill(process)
        else:
            self._fault("paused at a call", f"{process.name} {call}")
            self._freeze(process)

    def _outage(self, lasts: float) -> None:
        now = self.loop.time()
        self.outage.until = max(self.outage.until, now + lasts)
        self.history.health.outages.append((now, now + lasts + 1))

    def _ill(self, process: Process, until: float) -> None:
        if process.name in self.history.health.lives:
            self.history.health.lives[process.name].ills.append((self.loop.time(), until + 6))

    def _kill(self, process: Process) -> None:
        process.dead = True
        if process.name in self.history.health.lives:  # and is not somebody who asks
            self.history.health.lives[process.name].died = self.loop.time()
        for n, other in self.workers.items():
            if other is process:
                self.loop.call_later(self.random.uniform(0, 20), self._start, n)

    def _freeze(self, process: Process) -> None:
        lasts = self.random.choice([2, 10, 20, 35, 70, 180]) * self.random.uniform(0.5, 1)
        process.frozen_until = self.loop.time() + lasts
        self._ill(process, process.frozen_until)

    def _fault(self, name: str, about: str = "") -> None:
        self.history.fault(self.loop.time(), name, about)

    async def _chaos(self, end: float) -> None:
        random = self.random
        while self.loop.time() < end:
            await _until(self.loop, self.loop.time() + random.expovariate(1 / self.setting.between_faults))
            process, kind = self.workers[random.randrange(self.setting.workers)], random.random()
            if kind < 0.35:
                if not process.dead:
                    self._fault("killed", process.name)
                    self._kill(process)
            elif kind < 0.6:
                self._fault("paused", process.name)
                self._freeze(process)
            elif kind < 0.72:
                self._fault("cut off from the store", process.name)
                process.cut_off_until = self.loop.time() + random.uniform(1, 90)
                self._ill(process, process.cut_off_until)
            elif kind < 0.82:
                self._break_down()
            elif kind < 0.9:
                self._set_clock()
            elif kind < 0.92:
                self._all_at_once()

    def _all_at_once(self) -> None:
        """Every worker dies or stands still."""
        self._fault("all workers down")
        for process in list(self.workers.values()):
            if not process.dead:
                until = self.loop.time() + self.random.uniform(60, 1500)
                process.frozen_until = min(until, self.setting.hours * 3600 + 60)
                self._ill(process, process.frozen_until)

    def _break_down(self) -> None:
        self._fault("store down")
        lasts = self.random.uniform(0.5, 30)
        self._outage(lasts)
        if self.reversible and self.random.random() < 0.5:
            self._fault("commits lost")
            self._take_back(self.random.uniform(0, 6))

    def _take_back(self, seconds: float) -> None:
        assert self.reversible
        count = self.reversible.take_back(self.loop.time() - seconds)
        if count:
            del self.history.writes[-count:]

    def _set_clock(self) -> None:
        if not self.setting.jumps:
            return
        by = self.random.choice(self.setting.jumps)
        if self.setting.wild or abs(self.clock.offset + by) <= 3:
            self._fault("clock set", f"{by:+d} s")
            self.history.set_back.append((self.loop.time(), int(self.clock.now() * 1000)))
            self.clock.step(by)

    # Requests

    async def _requests(self, end: float) -> None:
        random = self.random
        while self.loop.time() < end:
            await _until(self.loop, self.loop.time() + random.expovariate(1 / self.setting.between_requests))
            identity = f"s{random.randrange(self.setting.schedules)}"
            kinds = ["upsert"] * 4 + ["pause", "resume", "resume", "trigger", "trigger", "backfill", "delete"]
            wait = 60 - self.clock.now() % 60 if random.random() < 0.4 else 0.0  # just when a period falls due
            self._request(random.choice(kinds), identity, wait=wait + random.random() * 0.03)
            if random.random() < 0.3:  # and somebody else at the same time
                self._request(random.choice(kinds), identity, wait=wait + random.random() * 0.03)

    def _request(self, kind: str, identity: str, wait: float = 0) -> None:
        self.requests += 1
        process = Process(f"c{self.requests}", self.loop)
        random = Random(f"request {self.setting.seed} {self.requests}")
        self.loop.create_task(self._ask(process, kind, identity, random, wait))

    async def _ask(self, process: Process, kind: str, identity: str, random: Random, wait: float) -> None:
        await process.sleep(wait)
        registrar = self.parts.registrar(FaultyStore(self._watched(process.name), self._road(process)))
        request = f"{kind}{self.requests}"
        self.history.notes.append((self.loop.time(), f"{process.name} asks to {kind} {identity}"))
        self.history.faults[f"asked: {kind}"] += 1
        job = job_of(random, identity, self.setting)
        now = int(self.clock.now())
        for _ in range(5):
            try:
                if kind == "upsert":
                    await registrar.upsert(job)
                elif kind == "trigger":
                    await registrar.trigger(identity, request)
                elif kind == "backfill":
                    await registrar.backfill(identity, now - random.randrange(900), now, request)
                elif kind == "extend" or (kind == "pause" and random.random() < 0.7):
                    lasts = random.randrange(30, 1_800)
                    await registrar.pause(identity, until=(now + lasts) * 1000)
                    if random.random() < 0.6:  # somebody extends it, just when it ends
                        self._request("extend", identity, wait=now + lasts - self.clock.now() + random.random() * 0.03)
                else:
                    await getattr(registrar, kind)(identity)
                return
            except ConnectionError:
                await process.sleep(random.random() * 3)
            except KronError as error:
                if error.code not in ("NOT_FOUND", "PAST"):  # it took so long that the end of the pause has passed
                    self._broke(f"{kind} {identity}: {error.code}")
                return
            except Exception:
                self._broke(f"{kind} {identity}: {traceback.format_exc()}")
                return


class _Calming:
    """A road that is rough until the world is calm."""

    def __init__(self, road: ToStore | ToTarget, world: World) -> None:
        self.road, self.world = road, world

    async def request(self, call: str) -> None:
        if self.world.calm:
            if self.road.process.frozen_until > self.road.process.loop.time() or self.road.process.dead:
                await self.road.process.wait(0)
        else:
            await self.road.request(call)

    async def response(self, call: str) -> None:
        if self.world.calm:
            await self.road.process.wait(0.002)
        else:
            await self.road.response(call)


async def _until(loop: VirtualLoop, then: float) -> None:
    sleeper = loop.create_future()
    loop.call_at(then, lambda: sleeper.done() or sleeper.set_result(None))
    await sleeper
