"""Load pass: it counts every schedule once, writes scope by scope, and leaves room for the passes of its worker."""

import asyncio
import time
from collections import Counter
from dataclasses import replace

from kron import parse
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.events import Memory
from kron.engine.load_pass import (
    BREAK_FACTOR,
    INTERVAL_SECONDS,
    MAX_BREAK_SECONDS,
    MIN_BREAK_SECONDS,
    SLICE_SECONDS,
    LoadPass,
    counting_load,
)
from kron.engine.registrar import Registrar
from kron.rules.load import HORIZON_MINUTES
from kron.rules.upcoming import upcoming
from kron.stores.memory import MemoryStore
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE
from kron.timing.zone import instant_of

NOW = instant_of("2026-03-27T10:20:30Z")
END = (NOW // 60 + HORIZON_MINUTES) * 60
TEXTS = ["0 * * * *", "0,30 9 * * *", "0 */6 * * * @win(after,3h)", "0 9 * * MON"]
NAMES = ["free", *(f"{scope}/{n:02}" for scope in ("a", "b") for n in range(30))]


class Timer:
    """A timer in which work takes no time, and that remembers the sleeps."""

    def __init__(self):
        self.slept = []

    def monotonic(self):
        return 0.0

    async def sleep(self, seconds):
        self.slept.append(seconds)
        await asyncio.sleep(0)


async def a_store(names=NAMES):
    store = MemoryStore(ManualClock(float(NOW)))
    registrar = Registrar(store)
    for n, name in enumerate(names):
        schedule = replace(parse(TEXTS[n % len(TEXTS)], dialect="kron"), policy=SERVICE)
        await registrar.upsert(Job(name, schedule, target="test:it"))
    return store


async def walked(store, scope):
    """The number of runs by hour, one upcoming run after the other."""
    counts = Counter()
    for state in await store.get(await store.identities("", 1_000, scope)):
        counts.update(due.at // 3_600_000 * 3_600 for due in upcoming(state, NOW * 1000, 1_000) if due.at < END * 1000)
    return counts


def by_hour(load):
    return {each.start: each.runs for each in load.intervals if each.runs}


async def load(store, scope):
    return await store.overview.load(scope, NOW // 3_600 * 3_600, END, 3_600)


def test_load_is_that_of_a_walk_over_all_runs():
    async def script():
        store = await a_store()
        assert await LoadPass(store, Timer(), "w").once() == len(NAMES)
        for scope in ("", "a/", "b/"):
            assert by_hour(await load(store, scope)) == await walked(store, scope), scope
        assert by_hour(await load(store, "c/")) == {}
        whole = await load(store, "a/")
        assert whole.written == NOW * 1000
        texts = {kind.text: kind for kind in whole.kinds}
        assert set(texts) == set(TEXTS)
        every_hour = sum(TEXTS[n % 4] == TEXTS[0] for n, name in enumerate(NAMES) if name.startswith("a/"))
        assert (texts["0 * * * *"].busiest, texts["0 * * * *"].runs) == (every_hour, every_hour * 192)

    asyncio.run(script())


def test_what_was_removed_or_paused_is_gone_after_the_next_round():
    async def script():
        store = await a_store()
        await LoadPass(store, Timer(), "w").once()
        registrar = Registrar(store)
        for name in NAMES:
            if name.startswith("a/"):
                await registrar.delete(name)
            elif name.startswith("b/"):
                await registrar.pause(name)
        assert by_hour(await load(store, "a/")), "until the next round"
        store.clock.advance(1)
        await LoadPass(store, Timer(), "w").once()
        assert by_hour(await load(store, "a/")) == by_hour(await load(store, "b/")) == {}
        assert by_hour(await load(store, "")) == await walked(store, "free") != {}

    asyncio.run(script())


def test_the_worker_that_is_alive_for_longest_counts():
    async def script():
        store = await a_store(["a/1"])
        kinds = frozenset({"test"})
        await store.lease("w1", kinds, 15_000)
        store.clock.advance(1)
        await store.lease("w2", kinds, 15_000)
        assert await LoadPass(store, Timer(), "w2").once() == 0
        assert await LoadPass(store, Timer(), "w1").once() == 1
        store.clock.advance(15)
        await store.lease("w2", kinds, 15_000)
        assert await LoadPass(store, Timer(), "w2").once() == 1, "the other one is gone"

    asyncio.run(script())


def test_failure_is_an_event_and_the_next_round_comes():
    async def script():
        store, timer, sink = await a_store(["a/1"]), Timer(), Memory()

        async def fail(*args, **named):
            raise OSError("no connection")

        store.identities = fail
        async with counting_load(LoadPass(store, timer, "w", sink)):
            while len(timer.slept) < 4:
                await asyncio.sleep(0)
        assert sink.named("load_failed")
        assert [seconds > INTERVAL_SECONDS / 2 for seconds in timer.slept[:3]] == [False, True, True]

    asyncio.run(script())


class Slices(SystemTimer):
    """A timer that remembers how much work was done between two sleeps, in seconds of this thread."""

    def __init__(self):
        self.slices, self.breaks, self.woke = [], [], time.thread_time()

    async def sleep(self, seconds):
        self.slices.append(time.thread_time() - self.woke)
        self.breaks.append(seconds)
        await asyncio.sleep(0)
        self.woke = time.thread_time()


def test_pass_works_in_slices_also_within_one_schedule():
    """Each of 3 schedules has 11,520 windows, which take about 100 ms together."""

    async def script():
        store, timer = MemoryStore(ManualClock(float(NOW))), Slices()
        schedule = replace(parse("* * * * * @win(after,50s)", dialect="kron"), policy=SERVICE)
        for n in range(3):
            await Registrar(store).upsert(Job(f"a/{n}", schedule, target="test:it"))
        assert await LoadPass(store, timer, "w").once() == 3
        return timer

    timer = asyncio.run(script())
    slices = timer.slices
    assert len(slices) > 30
    assert sorted(slices)[len(slices) * 9 // 10] < 4 * SLICE_SECONDS
    assert all(MIN_BREAK_SECONDS <= rest <= MAX_BREAK_SECONDS for rest in timer.breaks)
    pairs = list(zip(slices, timer.breaks, strict=True))[1:]
    half = BREAK_FACTOR / 2  # the two clocks do not begin at the same instruction
    assert all(rest >= min(MAX_BREAK_SECONDS, half * work) for work, rest in pairs), "a tenth of the time"


def test_round_collects_local_hours_and_rare_runs_of_each_scope():
    texts = {
        "a/month": "0 4 1 * *",
        "a/paris": "30 2 * * * @tz(Europe/Paris)",
        "a/hourly": "0 * * * * @tz(Europe/Paris)",
        "b/paris": "0 9 2 * * @tz(Europe/Paris)",
        "b/rome": "0 2 * * * @tz(Europe/Rome)",
        "free": "0 5 3 * *",
    }

    async def script():
        store = await a_store([])
        for name, text in texts.items():
            schedule = replace(parse(text, dialect="kron"), policy=SERVICE)
            await Registrar(store).upsert(Job(name, schedule, target="test:it"))
        await LoadPass(store, Timer(), "w").once()
        facts = {scope: await store.overview.calendar.read(scope) for scope in ("", "a/", "b/", "c/")}
        zones = {scope: {z.zone: z.schedules for z in each.zones} for scope, each in facts.items() if each}
        assert zones == {
            "": {"Europe/Paris": 2, "Europe/Rome": 1},
            "a/": {"Europe/Paris": 1},
            "b/": {"Europe/Paris": 1, "Europe/Rome": 1},
        }
        names = {s: sorted({r.identity for d in each.days for r in d.runs}) for s, each in facts.items() if each}
        assert names == {"": ["a/month", "b/paris", "free"], "a/": ["a/month"], "b/": ["b/paris"]}
        for name in ("a/month", "a/paris"):
            await Registrar(store).pause(name)
        await LoadPass(store, Timer(), "w").once()
        assert (await store.overview.calendar.read("a/"))[:2] == ((), ())
        for name in texts:
            if name.startswith("b/"):
                await Registrar(store).delete(name)
        store.clock.advance(1)
        await LoadPass(store, Timer(), "w").once()
        assert await store.overview.calendar.read("b/") is None

    asyncio.run(script())
