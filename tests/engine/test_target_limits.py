"""Limits of targets: never exceeded, shared by workers, and without an effect on other targets."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron.engine.events import Memory
from kron.engine.lanes import Lane, Lanes
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.target_limit import BadLimit, TargetLimit, TargetLimits, read_limits
from kron.engine.target_name import HOST_HINT
from kron.engine.worker import Worker
from kron.launchers.http import HttpLauncher
from kron.rules.attempt import AttemptResult
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.testing import VirtualClock, VirtualTimer
from kron.timing.schedule.policy import KRON, SECOND, SERVICE, Overlap
from tests.engine.test_dispatcher import ONCE, START, Slow, a_job, live, of_all, worked

FIVE = Settings(target_limits=read_limits(["limited=5/s"]))


class Targets(Slow):
    """A launcher that remembers when each target was called, and how many launches of it were in progress at once."""

    def __init__(self):
        super().__init__()
        self.calls, self.current, self.peak = {}, Counter(), Counter()

    async def start(self, launch):
        target = self.lane(launch.job)
        self.calls.setdefault(target, []).append(asyncio.get_running_loop().time())
        self.current[target] += 1
        self.peak[target] = max(self.peak[target], self.current[target])
        try:
            return await super().start(launch)
        finally:
            self.current[target] -= 1


def jobs_of(target, count, takes=0.0, policy=ONCE):
    """Jobs that run once, in the first minute."""
    return [
        replace(a_job(n, takes=takes, policy=policy, target=f"test:{target}", name=target), end=START)
        for n in range(count)
    ]


def most_per_second(times):
    """The most calls in any second."""
    return max(sum(begin <= time < begin + 1 - 1e-6 for time in times) for begin in times)


@pytest.mark.parametrize(
    ("texts", "limits"),
    [
        (["hooks.example.com=10,5/s"], [("hooks.example.com", 10, 5.0)]),
        (["Hooks.Example.com=10", "5/s", "*=20"], [("hooks.example.com", 10, 5.0), ("*", 20, None)]),
        (["a=0.5/s, b = 1"], [("a", None, 0.5), ("b", 1, None)]),
        (["celery=5/s,3"], [("celery", 3, 5.0)]),
        ([], []),
    ],
)
def test_limits_are_read_from_text(texts, limits):
    assert read_limits(texts) == tuple(TargetLimit(*limit) for limit in limits)


@pytest.mark.parametrize(
    "text", ["5/s", "a", "a=", "a=0", "a=0/s", "a=5/m", "a=-1", "a=1,2", "a=1/s,2/s", "a=1,a=2", "=1", "a=10001", "a=x"]
)
def test_limit_that_cannot_be_read_is_named(text):
    with pytest.raises(ValueError) as error:
        read_limits([text])
    item, problem = error.value.args
    assert item in text
    assert problem


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[::1]=5", "::1"),
        ("0:0:0:0:0:0:0:1=5", "::1"),
        ("Hooks.Example.com.=5", "hooks.example.com"),
        ("127.1=5", "127.0.0.1"),
        ("::ffff:127.0.0.1=5", "127.0.0.1"),
        ("xn--mnchen-3ya.de=5", "xn--mnchen-3ya.de"),
        ("my_host=5", "my_host"),
    ],
)
def test_name_of_a_limit_is_the_normal_form_of_a_host(text, target):
    assert [limit.target for limit in read_limits([text])] == [target]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("127.0.0.1:18801=1", "write the name alone: 127.0.0.1. All ports of a host share its limit"),
        ("http://127.0.0.1=1", "write the name alone: 127.0.0.1. All ports of a host share its limit"),
        ("https://user@X.com:8443/hook?a=b=5/s", "write the name alone: x.com. All ports of a host share its limit"),
        ("x.com/hook=5", "write the name alone: x.com. All ports of a host share its limit"),
        ("https://x.com/path?a=b=5", "write the name alone: x.com. All ports of a host share its limit"),
        ("*.example.com=3", "write each host, or * alone for every other target"),
        ("münchen.de=5", "write the host as in the URL of the webhook: xn--mnchen-3ya.de"),
        ("h..=5", HOST_HINT),
        ("a b=5", HOST_HINT),
        ("[::1=5", HOST_HINT),
        ("fe80::1%eth0=5", HOST_HINT),
    ],
)
def test_limit_whose_name_no_target_can_have_is_refused(text, hint):
    """It would be no limit at all."""
    with pytest.raises(BadLimit) as error:
        read_limits([text])
    assert error.value.args[0] == text
    assert error.value.hint == hint


def test_names_of_one_host_are_one_target():
    with pytest.raises(BadLimit, match="twice"):
        read_limits(["127.0.0.1=1", "0x7f000001=2"])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1."])
def test_spellings_of_an_address_have_one_lane(host):
    launcher = HttpLauncher(None, None, plain=True)
    assert launcher.lane(a_job(0, target=f"http://{host}:8080/x")) == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "lane"),
    [
        ("Hooks.Example.COM.", "hooks.example.com"),
        ("[0:0::1]", "::1"),
        ("[::ffff:7f00:1]", "127.0.0.1"),
        ("1.2.3.4.5", "1.2.3.4.5"),
        ("256.1", "256.1"),
        ("0x7f.example", "0x7f.example"),
        ("3com.com", "3com.com"),
    ],
)
def test_lane_is_the_normal_form_of_a_host(host, lane):
    assert HttpLauncher(None, None).lane(a_job(0, target=f"https://{host}/x")) == lane


@pytest.mark.parametrize("address", ["::1", "fe80::1:2"])
def test_limit_of_an_address_is_read(address):
    assert read_limits([f"{address}=5"]) == (TargetLimit(address, 5),)


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (TargetLimit("a", 10, 5.0), "10 concurrent launches, 5 launches per second"),
        (TargetLimit("a", 1), "1 concurrent launch"),
        (TargetLimit("a", None, 0.5), "0.5 launches per second"),
    ],
)
def test_limit_in_words(limit, text):
    assert str(limit) == text


def test_rate_limit_is_kept_and_others_are_on_time():
    async def script(loop):
        launcher, jobs = Targets(), [*jobs_of("limited", 60), *jobs_of("free", 60)]
        store = await worked(loop, jobs, launcher, 55, settings=FIVE)
        assert {run.state for run in await of_all(store)} == {State.SUCCESS}
        times = launcher.calls["limited"]
        assert len(times) == 60
        assert most_per_second(times) == 5
        assert times[-1] - times[0] < 13, "60 launches at 5 per second take 12 seconds"
        assert max(launcher.calls["free"]) - 30 < 1

    live(script)


def test_concurrency_limit_is_kept_and_others_are_on_time():
    async def script(loop):
        launcher = Targets()
        limits = Settings(target_limits=read_limits(["limited=3"]), max_concurrent_launches=10)
        jobs = [*jobs_of("limited", 30, takes=2.0), *jobs_of("free", 60, takes=0.1)]
        store = await worked(loop, jobs, launcher, 120, settings=limits)
        assert {run.state for run in await of_all(store)} == {State.SUCCESS}
        assert launcher.peak["limited"] == 3
        assert len(launcher.calls["limited"]) == 30
        assert max(launcher.calls["free"]) - 30 < 2

    live(script)


def test_default_limit_applies_to_each_target_alone():
    async def script(loop):
        launcher = Targets()
        limits = Settings(target_limits=read_limits(["*=2/s", "fast=50/s"]))
        jobs = [*jobs_of("a", 8), *jobs_of("b", 8), *jobs_of("fast", 40)]
        await worked(loop, jobs, launcher, 55, settings=limits)
        assert {target: most_per_second(times) for target, times in launcher.calls.items()} == {
            "a": 2,
            "b": 2,
            "fast": 40,
        }
        assert {target: len(times) for target, times in launcher.calls.items()} == {"a": 8, "b": 8, "fast": 40}

    live(script)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 40).map(lambda tenths: tenths / 4),
    st.one_of(st.none(), st.integers(1, 6)),
    st.integers(1, 70),
    st.sampled_from([0.0, 0.03, 0.7, 3.0]),
    st.integers(2, 20),
)
def test_limit_is_never_exceeded_and_delays_no_other_target(rate, concurrent, count, takes, slots):
    """A part such as 2.5 per second allows 3 launches in one second, and 5 in two."""

    async def script(loop):
        launcher = Targets()
        limits = Settings(target_limits=(TargetLimit("limited", concurrent, rate),), max_concurrent_launches=slots)
        jobs = [*jobs_of("limited", count, takes=takes), *jobs_of("free", 20, takes=0.05)]
        store = await worked(loop, jobs, launcher, 200, settings=limits)
        times = launcher.calls["limited"]
        assert most_per_second(times) <= -(-rate // 1)
        assert len(times) <= (times[-1] - times[0]) * rate + -(-rate // 1) + 1e-6
        assert concurrent is None or launcher.peak["limited"] <= concurrent
        assert max(launcher.calls["free"]) - 30 < 2.5
        runs = await of_all(store)
        assert {run.state for run in runs} <= {State.SUCCESS, State.RETRY}, "nothing is lost"
        assert len(times) == sum(run.state is State.SUCCESS for run in runs if run.identity.startswith("limited"))

    live(script)


def test_workers_share_a_limit():
    async def script(loop):
        store, launcher, stop = MemoryStore(VirtualClock(loop, START - 30)), Targets(), asyncio.Event()
        for job in [*jobs_of("rate", 120), *jobs_of("few", 40, takes=1.0)]:
            await Registrar(store).upsert(job)
        limits = Settings(target_limits=read_limits(["rate=6/s", "few=5"]))
        workers = [
            Worker(store, {"test": launcher}, VirtualTimer(loop), owner=f"w{n}", settings=limits) for n in range(2)
        ]
        tasks = [loop.create_task(worker.run(stop)) for worker in workers]
        await asyncio.sleep(100)
        stop.set()
        await asyncio.gather(*tasks)
        assert {run.state for run in await of_all(store)} == {State.SUCCESS}
        assert most_per_second(launcher.calls["rate"]) <= 6
        assert launcher.peak["few"] == 4, "5 divided by 2 workers is 2 each"
        assert [worker.membership.workers("test") for worker in workers] == [2, 2]

    live(script)


def test_part_of_a_worker_is_exact_and_at_least_one_launch():
    class Now:
        time = 100.0

        def monotonic(self):
            return self.time

    timer = Now()
    limits = TargetLimits([TargetLimit("a", 3, 5.0)], timer, lambda kind: 4, 12.0)
    limits.register("a", "test")
    assert limits.free("a") == 1  # 3 / 4
    limits.begin("a")
    assert limits.wait("a") == float("inf")
    limits.end("a", 100.0, sent=True)
    limits.begin("a")
    limits.end("a", 100.0, sent=True)
    assert limits.wait("a") == pytest.approx(1.6), "1.25 per second are 2 in 1.6 seconds"
    timer.time = 101.7
    assert limits.wait("a") == 0


def test_lane_that_waits_for_slow_launches_waits_for_no_rate():
    """Otherwise the timer of the limits would fire again and again until a slow launch ends."""

    async def script(loop):
        limits = TargetLimits([TargetLimit("limited", None, 1.0)], VirtualTimer(loop), lambda kind: 1, 12.0)
        limits.register("limited", "test")
        lanes = Lanes(10, 8, limits)
        slow, limited = Lane("", "slow"), Lane("", "limited")
        for lane in (slow, slow, limited, limited):
            lanes.put(lane, "run")
        assert {lanes.take()[0], lanes.take()[0]} == {slow, limited}
        lanes.slows(slow)
        assert lanes.take() is None
        assert set(lanes.parked) == {slow, limited}
        assert lanes.limit_wait == 1.0
        await asyncio.sleep(1)
        lanes.unpark()
        assert set(lanes.parked) == {slow}
        assert lanes.limit_wait == float("inf")

    live(script)


def test_run_beyond_its_limit_is_claimed_again_in_its_turn():
    async def script(loop):
        launcher, events = Targets(), Memory()
        limits = Settings(target_limits=read_limits(["limited=2/s"]))
        store = await worked(loop, jobs_of("limited", 400), launcher, 300, settings=limits, sink=events)
        runs = await of_all(store)
        assert {run.state for run in runs} == {State.SUCCESS}
        times = launcher.calls["limited"]
        assert times[-1] - times[0] < 240, "400 launches at 2 per second take 200 seconds"
        assert sum(run.attempt for run in runs) < 400 * 5, "each is claimed about once a minute"
        causes = {event.facts["why"] for event in events.named("launch_withheld")}
        assert causes == {"the limit of limited (2 launches per second) is reached"}

    live(script)


def test_worker_claims_little_more_than_a_limit_allows():
    """Each tenant has its own lane. Together they hold what the rate sends while a claim lasts, or one run each."""

    async def script(loop):
        store, stop = MemoryStore(VirtualClock(loop, START - 30)), asyncio.Event()
        for n in range(10):
            for job in jobs_of("limited", 40):
                await Registrar(store).upsert(replace(job, identity=f"tenant{n}/{job.identity}"))
        settings = Settings(target_limits=read_limits(["limited=5/s"]))
        worker = Worker(store, {"test": Targets()}, VirtualTimer(loop), owner="w", settings=settings)
        task, waiting = loop.create_task(worker.run(stop)), []
        for _ in range(200):
            await asyncio.sleep(0.3)
            waiting.append(worker.dispatcher.lanes.waiting)
        stop.set()
        await task
        assert 40 <= max(waiting) <= 60, "5 per second for 12 seconds"

    live(script)


def test_run_that_waits_is_withheld_before_its_claim_expires():
    async def script(loop):
        launcher = Targets()
        limits = Settings(target_limits=read_limits(["limited=0.02/s", "few=1"]), timeout=40_000)
        jobs = [*jobs_of("limited", 3), *jobs_of("few", 3, takes=35.0)]
        waits = []

        def sink(event):
            if event.name == "launch_withheld":
                waits.append(START - 30 + loop.time() - event.at / 1000)

        store = await worked(loop, jobs, launcher, 300, settings=limits, sink=sink)
        assert max(waits) < 17, "half of the claim, which lasts 30 seconds"
        runs = await of_all(store)
        assert {run.state for run in runs} == {State.SUCCESS}
        assert len(launcher.calls["limited"]) == len(launcher.calls["few"]) == 3
        attempts = [attempt for each in await store.attempts([run.key for run in runs]) for attempt in each]
        assert {attempt.result for attempt in attempts} == {AttemptResult.UNSENT}, "no claim was lost"

    live(script)


def test_run_with_a_deadline_returns_before_its_deadline():
    """Turns are up to a minute away. A run whose deadline is nearer is claimed before it, and then sent in turn."""

    async def script(loop):
        launcher, policy = Targets(), replace(SERVICE, deadline=20 * SECOND)
        limits = Settings(target_limits=read_limits(["limited=1/s"]))
        await worked(loop, jobs_of("limited", 100, policy=policy), launcher, 120, settings=limits)
        last = launcher.calls["limited"][-1] - 30
        assert 25 < last <= 20 + 12 + 0.5

    live(script)


def test_run_that_a_limit_delays_cancels_the_run_it_replaces():
    async def script(loop):
        launcher = Targets()
        policy = replace(KRON, overlap=Overlap.REPLACE, deadline=600 * SECOND, run_lease=600 * SECOND)
        jobs = [a_job(n, policy=policy, target="test:limited") for n in range(40)]
        limits = Settings(target_limits=read_limits(["limited=1/s"]))
        store = await worked(loop, jobs, launcher, 110, settings=limits)
        replaced = [run for run in await of_all(store) if run.state is State.CANCELLED and run.tries]
        cancels = {name for name, _ in launcher.begun if name.startswith("cancel")}
        assert cancels >= {f"cancel {run.identity}" for run in replaced}
        assert replaced

    live(script)


def test_worker_stops_while_runs_wait_for_a_limit():
    async def script(loop):
        launcher = Targets()
        store = await worked(loop, jobs_of("limited", 60), launcher, 35, settings=FIVE)
        runs = await of_all(store)
        assert Counter(run.state for run in runs)[State.RETRY] == 60 - len(launcher.calls["limited"])
        assert {run.state for run in runs} == {State.RETRY, State.SUCCESS}

    live(script)


def test_target_whose_runs_wait_is_not_forgotten(monkeypatch):
    """Beyond the number of targets that are kept, only idle ones are forgotten."""
    monkeypatch.setattr("kron.engine.target_limit.MAX_KEPT_TARGETS", 50)

    async def script(loop):
        launcher = Targets()
        settings = Settings(target_limits=read_limits(["*=1"]))
        first = [job for n in range(50) for job in jobs_of(f"old{n}", 1)]
        last = [job for n in range(60) for job in jobs_of(f"z{n}", 1)]
        store = await worked(loop, [*first, *jobs_of("victim", 6, takes=0.2), *last], launcher, 60, settings=settings)
        assert {run.state for run in await of_all(store)} == {State.SUCCESS}
        assert set(launcher.peak.values()) == {1}
        assert len(launcher.calls["victim"]) == 6

    live(script)


def test_number_of_idle_targets_is_bounded(monkeypatch):
    monkeypatch.setattr("kron.engine.target_limit.MAX_KEPT_TARGETS", 3)

    async def script(loop):
        limits = TargetLimits(read_limits(["*=1"]), VirtualTimer(loop), lambda kind: 1, 12.0)
        lanes = Lanes(10, 8, limits)
        for n in range(10):
            limits.register(f"idle{n}", "test")
        assert len(limits.uses) <= 3
        for n in range(4):
            limits.register(f"busy{n}", "test")
            lanes.put(Lane("", f"busy{n}"), "run")
        taken, _ = lanes.take()
        lanes.parked = dict.fromkeys(lanes.queues, 1)
        limits.register("new", "test")
        assert set(limits.uses) >= {"busy0", "busy1", "busy2", "busy3"}, "in progress, or waiting"
        lanes.ends(taken, slow=False)
        limits.end(taken.host, 0.0, sent=True)
        assert len(lanes.surplus(lambda entry: True)) + len(lanes.clear()) == 3
        assert {use.waiting for use in limits.uses.values()} == {use.in_progress for use in limits.uses.values()} == {0}
        for n in range(20):
            limits.register(f"later{n}", "test")
        assert len(limits.uses) <= 2 * 5, "they are idle now"

    live(script)


def test_pass_that_waits_for_its_results_waits_for_limits():
    async def script(loop):
        store, launcher = MemoryStore(VirtualClock(loop, START - 30)), Targets()
        for job in jobs_of("limited", 12):
            await Registrar(store).upsert(job)
        worker = Worker(store, {"test": launcher}, VirtualTimer(loop), owner="w", settings=FIVE)
        await asyncio.sleep(30)
        await worker.tick()
        assert len(launcher.calls["limited"]) == 12
        assert 32 <= loop.time() < 33

    live(script)
