"""Every outcome and every reason in the ledger is confirmed by an observer who saw what really happened."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from kron import parse
from kron.engine.events import silent
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.rules.launch_result import Report
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.stores.memory import MemoryStore
from kron.testing import FaultyLauncher, FaultyStore, VirtualClock, VirtualLoop
from kron.timing.job import Job
from kron.timing.schedule.policy import KRON, MINUTE, SECOND, SERVICE, Catchup, Completion, Overlap, WorkerLossPolicy
from tests.engine.observer import KINDS, Life, Line, Observer, Target
from tests.simulation.process import Process

START = 1_772_366_400 - 30  # 2026-03-01T11:59:30Z
GRACE = 5_000  # milliseconds from what happened to its record
ALL = frozenset(KINDS)


class World:
    """Real workers over a store in memory, in virtual time."""

    def __init__(self, seed: int = 0) -> None:
        self.random, self.loop, self.seen = Random(f"world {seed}"), VirtualLoop(), Observer()
        self.clock = VirtualClock(self.loop, START)
        self.store = MemoryStore(self.clock)
        self.registrar = Registrar(self.store)
        self.target = Target(self.loop, self.clock, self.registrar, self.seen, f"target {seed}")
        self.processes: dict[str, tuple[Process, asyncio.Event]] = {}
        self.tasks: list[asyncio.Task] = []

    def play(self, script) -> None:
        try:
            self.loop.run_until_complete(script)
        finally:
            self.loop.abandon()

    def now(self) -> int:
        return int(self.clock.now() * 1000)

    async def define(self, identity, kind, policy, lasts=1, text="* * * * *"):
        schedule = replace(parse(text, dialect="kron"), policy=policy)
        await self.registrar.upsert(Job(identity, schedule, description=str(lasts), target=f"{kind}:it"))

    def begin(self, name, kinds=ALL, sink=silent, breaks=None, **settings):
        """A worker process that can launch those kinds of targets."""
        process, stop = Process(name, self.loop), asyncio.Event()
        launcher = FaultyLauncher(self.target, Line(process))
        store = FaultyStore(self.store, Line(process, breaks))
        made = Settings(**settings)
        worker = Worker(store, dict.fromkeys(kinds, launcher), process, owner=name, settings=made, sink=sink)
        self.seen.lives.append(Life(name, frozenset(kinds), self.now()))
        self.processes[name] = process, stop
        self.tasks.append(self.loop.create_task(worker.run(stop)))

    def end(self, name, kill):
        """Kill a worker, or ask it to stop."""
        process, stop = self.processes.pop(name)
        stop.set()
        process.dead = kill
        next(life for life in self.seen.lives if life.name == name).died = self.now()

    async def ledger(self) -> list[tuple[ScheduleState, Run]]:
        cases = [case for case in await self.store.get(await self.store.identities("", 10_000)) if case]
        return [(case, run) for case in cases for run in await self.store.runs(case.identity, 10_000)]

    async def wrong(self) -> list[str]:
        """What the ledger says, and the observer did not see."""
        ledger, found = await self.ledger(), list[str]()
        for case, run in ledger:
            others = [other for _, other in ledger if other.identity == run.identity and other.key != run.key]
            about = f"{run.identity} {run.nominal} {case.job.target} {run.outcome} ({run.reason}), {run.state}"
            found += [f"{about}: {text}" for text in of_run(case, run, others, self.seen)]
        for case in {case.identity: case for case, _ in ledger}.values():
            kind = case.job.target.partition(":")[0]
            for gap in await self.store.gaps(case.identity):
                there = [at for at in (gap.first, gap.last) if self.seen.somebody(kind, at * 1000)]
                if gap.reason is Reason.CATCHUP_NONE and there:
                    found.append(f"{case.identity} a gap of {gap.count} for {gap.reason}, and a worker was there")
        return found


def of_run(case: ScheduleState, run: Run, others: list[Run], seen: Observer) -> Iterator[str]:
    """What is wrong with the record of one run."""
    executions = seen.executions_of(run.key)
    if run.outcome is Outcome.EXECUTED and run.reason is not Reason.UNKNOWN and not executions:
        yield "its target never had it"
    if run.state in (State.FAILED, State.LOST) and run.reason is None:
        yield "it has no reason"
    if run.outcome in (Outcome.SKIPPED, Outcome.MISSED, Outcome.UNSCHEDULABLE) and executions:
        yield "its target did it"
    yield from _of_reason(case, run, others, seen)


def _of_reason(case: ScheduleState, run: Run, others: list[Run], seen: Observer) -> Iterator[str]:
    """Whether the observer saw what the reason says."""
    calls, executions = seen.calls_of(run.key), seen.executions_of(run.key)
    kind = case.job.target.partition(":")[0]
    false = {
        Reason.UNKNOWN: (not any(doubtful(call, seen) for call in calls), "nothing was sent, or every answer heard"),
        Reason.OVERLAP: (not any(going(other, run.changed, seen) for other in others), "nothing else was going"),
        Reason.LAUNCH_FAILED: (not refused(calls), "nobody refused it"),
        Reason.FAILED: (not any(each.said is Report.FAILED for each in executions), "it reported no failure"),
        Reason.SILENT: (any(each.said for each in executions), "it reported its end"),
        Reason.CATCHUP_NONE: (seen.somebody(kind, run.due), "a worker was there"),
        Reason.DEADLINE: (not late(case, run), "it was not late"),
        Reason.REPLACED: (not any(o.nominal > run.nominal for o in others), "there is no newer one"),
        Reason.COALESCED: (not any(o.nominal > run.nominal for o in others), "there is no newer one"),
    }
    if run.reason in false and false[run.reason][0]:
        yield false[run.reason][1]


def doubtful(call, seen) -> bool:
    """Whether a worker cannot know what became of a call: no answer, or nobody there to write it down."""
    died = seen.death_of(call.worker)
    return call.answer is None or (died is not None and died <= call.end + GRACE)


def refused(calls) -> bool:
    return bool(calls) and all(call.answer in ("retryable", "rejected") for call in calls)


def going(other: Run, at: int, seen: Observer) -> bool:
    """Whether a run was on its way or being done at an instant; what was in doubt counts until its end is recorded."""
    calls, executions = seen.calls_of(other.key), seen.executions_of(other.key)
    begun = [call for call in calls if call.begin <= at]
    if not begun:
        return False
    done = [execution for execution in executions if execution.begin <= at]
    given_up = not other.open and other.changed < at
    if any(not given_up if each.end is None else each.end + GRACE >= at for each in (*begun, *done)):
        return True
    return not given_up and any(call.answer != "ok" for call in begun)  # it was refused, or is in doubt


def late(case: ScheduleState, run: Run) -> bool:
    deadline = case.policy.deadline
    return deadline is not None and (run.changed - run.due) * 1_000_000 > deadline


POLICIES = [
    replace(
        replace(base, overlap=overlap, on_worker_loss=interrupted, completion=completion),
        **{"deadline": deadline, "catchup": catchup, "run_lease": 5 * MINUTE},
    )
    for base, catchups in ((KRON, [Catchup.BY_DEADLINE]), (SERVICE, [Catchup.NONE, Catchup.ALL]))
    for catchup in catchups
    for overlap in (Overlap.SKIP, Overlap.ALLOW, Overlap.QUEUE, Overlap.REPLACE)
    for interrupted in (WorkerLossPolicy.LOST, WorkerLossPolicy.REDELIVER)
    for completion in Completion
    for deadline in ((0, 10 * MINUTE) if base is KRON else (None,))
]


async def random_life(world: World) -> None:
    """An hour: schedules of all kinds, workers that come and go, sinks that fail and writes that are lost."""
    random = world.random
    for n in range(14):
        lasts = random.choice([0.1, 5, 70, 200])
        kind = random.choice((*KINDS, "fast", "slow", "moody"))
        await world.define(f"s{n:02d}", kind, random.choice(POLICIES), lasts)

    def sink(event):
        if random.random() < 0.02:
            raise OSError("no space left on the device")

    breaks, born = {}, 0
    for _ in range(30):
        while len(world.processes) < random.choice([0, 1, 2, 3]):
            born += 1
            kinds = ALL if random.random() < 0.7 else frozenset(random.sample(KINDS, 4))
            world.begin(f"w{born}", kinds, sink, breaks)
        await asyncio.sleep(random.uniform(10, 200))
        if random.random() < 0.5:
            breaks["update_runs"] = random.randrange(1, 4)
        if world.processes and random.random() < 0.6:
            world.end(random.choice(sorted(world.processes)), kill=random.random() < 0.5)
    world.begin("last")
    await asyncio.sleep(180)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(4, 8))])
def test_every_reason_is_confirmed_by_an_observer(seed):
    world = World(seed)

    async def script():
        await random_life(world)
        ledger = await world.ledger()
        assert len(ledger) > 200
        assert await world.wrong() == []

    world.play(script())


def test_slow_targets_do_not_make_unknown_what_was_never_sent():
    """600 are due at once, and each takes a second: more than can be sent in half a lease."""
    world = World()

    async def script():
        policy = replace(SERVICE, on_worker_loss=WorkerLossPolicy.LOST)
        for n in range(600):
            await world.define(f"s{n:03d}", "slow", policy, text="0 12 * * *")
        world.begin("w", max_concurrent_launches=20, lease=30_000)
        await asyncio.sleep(300)
        assert await world.wrong() == []
        assert len(world.seen.executions) == 600

    world.play(script())


def test_sink_that_fails_stops_nothing():
    world = World()

    async def script():
        def sink(event):
            raise OSError("no space left on the device")

        for n in range(20):
            await world.define(f"s{n}", "fast", KRON)
        world.begin("w", sink=sink)
        await asyncio.sleep(200)
        assert await world.wrong() == []
        assert len(world.seen.executions) == 60

    world.play(script())


def test_answer_that_could_not_be_written_at_once_is_not_lost():
    world = World()

    async def script():
        breaks = {"update_runs": 1}
        for n in range(20):
            await world.define(f"s{n}", "fast", replace(KRON, completion=Completion.ACCEPTED))
        world.begin("w", breaks=breaks)
        await asyncio.sleep(200)
        assert breaks == {"update_runs": 0}
        assert await world.wrong() == []
        assert {run.reason for _, run in await world.ledger()} == {None}

    world.play(script())


def test_worker_leaves_targets_alone_that_it_cannot_launch():
    world = World()

    async def script():
        await world.define("s", "fast", SERVICE)
        world.begin("w1", kinds={"slow"})
        world.begin("w2", kinds={"rejecting"})
        await asyncio.sleep(200)
        assert await world.wrong() == []
        world.begin("w3", kinds={"fast"})
        await asyncio.sleep(100)
        assert await world.wrong() == []
        assert world.seen.executions != []

    world.play(script())


def test_death_of_one_worker_is_not_downtime():
    """Its shards go to the other one when its lease has ended: late, and not missed."""
    world = World()

    async def script():
        for n in range(40):
            await world.define(f"s{n}", "fast", replace(SERVICE, resolution=SECOND, grace=SECOND))
        world.begin("w1")
        world.begin("w2")
        await asyncio.sleep(85)  # both have had their share, at 12:00
        world.end("w1", kill=True)
        await asyncio.sleep(60)
        assert await world.wrong() == []
        assert len(world.seen.executions) == 80

    world.play(script())
