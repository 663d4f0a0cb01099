"""The path from the claim to the record: nothing that could be sent is lost, and nothing unsent is called executed."""

import asyncio
from dataclasses import replace

import pytest

from kron import parse
from kron.engine.clock import ManualClock
from kron.engine.events import Memory
from kron.engine.launcher import Launch
from kron.engine.registrar import Registrar
from kron.engine.report_writer import ReportWriter
from kron.engine.settings import Settings
from kron.engine.store import Unreadable
from kron.engine.worker import Worker
from kron.errors import StoreUnavailable, WriteRejected
from kron.launchers.python import PythonLauncher
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.outcome import Outcome, Reason
from kron.rules.plan import Plan
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.testing import VirtualClock, VirtualTimer, run
from kron.timing.job import Job
from kron.timing.schedule.policy import KRON, SECOND, SERVICE, Catchup, Completion, Overlap, WorkerLossPolicy
from tests.engine.world import FOLLOWED, World, play

START = 1_800_000_000
ONCE = replace(SERVICE, on_worker_loss=WorkerLossPolicy.LOST, completion=Completion.ACCEPTED)


class Slow:
    """A launcher that takes a while, by the job's description in seconds, and remembers what was on its way at once."""

    def __init__(self, answer=LaunchResult.OK):
        self.answer, self.begun, self.going, self.most = answer, [], 0, 0

    def lane(self, job):
        return job.target.partition(":")[2]

    async def start(self, launch: Launch):
        self.begun.append((launch.run.identity, asyncio.get_running_loop().time()))
        self.going += 1
        self.most = max(self.most, self.going)
        try:
            await asyncio.sleep(float(launch.job.description or 0))
        finally:
            self.going -= 1
        return self.answer

    async def cancel(self, run):
        self.begun.append((f"cancel {run.identity}", asyncio.get_running_loop().time()))
        await asyncio.sleep(3)


def live(script):
    """Run a script in virtual time."""
    return run(_with_loop(script))


async def _with_loop(script):
    return await script(asyncio.get_running_loop())


async def worked(loop, jobs, launcher, seconds, *, settings=Settings(), store=None, sink=None):  # noqa: B008
    """The store after a worker has worked on those jobs for so long."""
    store = store or MemoryStore(VirtualClock(loop, START - 30))
    registrar = Registrar(store)
    for job in jobs:
        await registrar.upsert(job)
    more = {"sink": sink} if sink else {}
    worker = Worker(store, {"test": launcher}, VirtualTimer(loop), owner="w1", settings=settings, **more)
    stop = asyncio.Event()
    task = loop.create_task(worker.run(stop))
    await asyncio.sleep(seconds)
    stop.set()
    await task
    return store


def a_job(n, takes=0.0, policy=ONCE, target="test:a", name="s"):
    text = parse("* * * * *", dialect="kron")
    return Job(f"{name}{n}", replace(text, policy=policy), target=target, description=str(takes))


async def of_all(store):
    return [run for name in store.cases for run in await store.runs(name, 10)]


def test_slow_launches_are_all_sent_and_none_is_unknown():
    async def script(loop):
        launcher = Slow()
        store = await worked(loop, [a_job(n, takes=1.0) for n in range(600)], launcher, 85)
        runs = await of_all(store)
        assert len(runs) == 600
        assert {run.state for run in runs} == {State.SUCCESS}
        assert len(launcher.begun) == 600

    live(script)


class Stopped(Slow):
    """A launcher of this host whose first answer to each run comes too late, as if the process had been stopped."""

    def __init__(self, *, is_local):
        super().__init__()
        self.is_local, self.known = is_local, set()

    async def start(self, launch: Launch):
        if launch.run.key not in self.known:
            self.known.add(launch.run.key)
            await asyncio.sleep(15)
        return await super().start(launch)


@pytest.mark.parametrize(("is_local", "state"), [(True, State.SUCCESS), (False, State.UNKNOWN)])
def test_local_launcher_is_asked_again_before_a_run_is_unknown(is_local, state):
    async def script(loop):
        store = await worked(loop, [a_job(0)], Stopped(is_local=is_local), 60)
        assert {run.state for run in await of_all(store)} == {state}

    live(script)


def test_worker_without_room_goes_on_as_soon_as_a_result_is_recorded():
    class Disk(MemoryStore):
        async def update_runs(self, changes, now):
            await asyncio.sleep(0.1)
            return await super().update_runs(changes, now)

    async def script(loop):
        settings, store = Settings(inflight=5, tick=20_000), Disk(VirtualClock(loop, START - 30))
        jobs = [a_job(n, takes=0.05) for n in range(40)]
        await worked(loop, jobs, Slow(), 85, settings=settings, store=store)
        runs = [run for run in await of_all(store) if run.nominal == START]
        assert len(runs) == 40
        assert max(run.sent for run in runs) - START * 1000 < 5_000

    live(script)


def test_claim_that_waited_too_long_goes_back_to_retry():
    async def script(loop):
        launcher = Slow()
        settings = Settings(max_concurrent_launches=1, max_slow_launches=0, lease=10_000)
        store = await worked(loop, [a_job(n, takes=4.0) for n in range(12)], launcher, 110, settings=settings)
        runs = await of_all(store)
        assert {run.state for run in runs if run.nominal == START} == {State.SUCCESS}
        assert max(run.attempt for run in runs) > 1  # some were claimed too early to be sent, and said so

    live(script)


class Stalls(Slow):
    """A launcher for whose launches nobody answers for a few seconds, once."""

    async def start(self, launch: Launch):
        if 100 < asyncio.get_running_loop().time() - self.first < 106:
            await asyncio.sleep(6)
        return await super().start(launch)


def test_worker_with_too_much_to_send_goes_on_at_full_speed_after_a_stall():
    """What is withheld says nothing of how much can be sent: else a worker claims ever more, and sends ever less."""

    async def script(loop):
        launcher, events = Stalls(), Memory()
        launcher.first = loop.time()
        settings = Settings(max_concurrent_launches=4, max_slow_launches=0, lease=9_000)
        jobs = [a_job(n, takes=0.4) for n in range(1_500)]  # 25 in a second, of which it can send 10
        await worked(loop, jobs, launcher, 600, settings=settings, sink=events)
        assert len(launcher.begun) > 0.9 * 10 * (600 - 30 - 6)
        assert len(events.named("launch_withheld")) < 200

    live(script)


def test_no_more_is_claimed_than_can_be_sent_however_much_is_to_be_caught_up():
    """One schedule may have many runs to catch up: each of them takes a place."""

    async def script(loop):
        launcher, events, store = Slow(), Memory(), MemoryStore(VirtualClock(loop, START - 30))
        policy = replace(ONCE, overlap=Overlap.ALLOW, catchup=Catchup.ALL)
        for n in range(60):
            await Registrar(store).upsert(a_job(n, takes=0.2, policy=policy))
        await asyncio.sleep(6_040)
        await worked(loop, [], launcher, 90, store=store, sink=events)
        runs = [run for name in store.cases for run in await store.runs(name, 200) if run.nominal <= START + 6_000]
        assert len(runs) == 60 * 101
        assert {(run.state, run.attempt) for run in runs} == {(State.SUCCESS, 1)}
        assert not events.named("launch_withheld")

    live(script)


class Laborious(MemoryStore):
    """Commits a few schedules at once, and takes too long for more."""

    most = 20

    async def commit(self, settlements, now, *, together=False):
        if len(settlements) > self.most:
            raise StoreUnavailable("STORE_FAILED", "canceling statement due to statement timeout", hint="")
        return await super().commit(settlements, now, together=together)


@pytest.mark.parametrize("lookahead", [0, 20_000])
def test_slow_store_is_asked_for_less_at_once(lookahead):
    async def script(loop):
        store, settings = Laborious(VirtualClock(loop, START - 30)), Settings(lookahead=lookahead)
        await worked(loop, [a_job(n) for n in range(600)], Slow(), 60, store=store, settings=settings)
        runs = await of_all(store)
        assert len(runs) == 600
        assert {run.state for run in runs} == {State.SUCCESS}

    live(script)


class FailsOnce(MemoryStore):
    """Fails to write results a few times."""

    def __init__(self, clock, times):
        super().__init__(clock)
        self.times = times

    async def update_runs(self, changes, now):
        if self.times:
            self.times -= 1
            raise ConnectionError("the line is cut")
        return await super().update_runs(changes, now)


def test_results_are_kept_while_the_store_fails():
    async def script(loop):
        store = FailsOnce(VirtualClock(loop, START - 30), times=8)
        await worked(loop, [a_job(n) for n in range(50)], Slow(), 60, store=store)
        assert {run.state for run in await of_all(store)} == {State.SUCCESS}

    live(script)


class Away(MemoryStore):
    """Cannot be reached between two instants. What is claimed at the first is committed, and the answer is lost."""

    def __init__(self, clock, first, last):
        super().__init__(clock)
        self.first, self.last, self.cut = first, last, False

    def reach(self):
        self.cut = self.cut or self.clock.now() > self.first
        if self.cut and self.clock.now() < self.last:
            raise StoreUnavailable("STORE_FAILED", "connection refused", hint="")

    async def now(self):
        self.reach()
        return await super().now()

    async def poll(self, shares):
        self.reach()
        return await super().poll(shares)

    async def commit(self, settlements, now, *, together=False):
        held = await super().commit(settlements, now, together=together)
        if now == self.first * 1000:
            self.cut = True
            raise StoreUnavailable("STORE_FAILED", "connection reset", hint="")
        return held

    async def update_runs(self, changes, now):
        self.reach()
        return await super().update_runs(changes, now)


@pytest.mark.parametrize("heard", [True, False], ids=["sent", "claimed"])
def test_results_are_kept_for_as_long_as_the_store_is_away(heard):
    """Whether the outage begins after the claim or in its commit: what this process knows is recorded when it ends."""

    async def script(loop):
        first = START + 0.5 if heard else START
        store, launcher = Away(VirtualClock(loop, START - 30), first, START + 1_000), Slow()
        jobs = [replace(a_job(n, takes=1.0), end=START) for n in range(5)]
        events = Memory()
        await worked(loop, jobs, launcher, 1_100, store=store, sink=events)
        runs = await of_all(store)
        assert {(run.state, run.outcome) for run in runs} == {(State.SUCCESS, Outcome.EXECUTED)}
        assert len(launcher.begun) == 5
        withheld = {event.facts["why"] for event in events.named("launch_withheld")}
        assert withheld == (set() if heard else {"the store failed while the run was claimed"})

    live(script)


class Picky(MemoryStore):
    """Refuses every write that is about one schedule."""

    async def update_runs(self, changes, now):
        if any(change.before.identity == "s7" for change in changes):
            raise WriteRejected("STORE_REFUSED", "no", hint="")
        return await super().update_runs(changes, now)


def test_result_that_cannot_be_written_holds_up_no_other():
    async def script(loop):
        store = Picky(VirtualClock(loop, START - 30))
        await worked(loop, [a_job(n) for n in range(50)], Slow(), 50, store=store)
        states = {run.identity: run.state for run in await of_all(store)}
        assert states.pop("s7") is not State.SUCCESS
        assert set(states.values()) == {State.SUCCESS}

    live(script)


def test_result_that_cannot_be_written_is_given_up_while_others_are_written():
    async def script(loop):
        store = Picky(VirtualClock(loop, START - 30))
        worker = Worker(
            store, {"test": Slow()}, VirtualTimer(loop), owner="w1", settings=Settings(max_result_age=90_000)
        )
        for n in (7, 8):
            await Registrar(store).upsert(a_job(n))
        stop = asyncio.Event()
        task = loop.create_task(worker.run(stop))
        await asyncio.sleep(60)
        (stuck,) = worker.dispatcher.busy
        await asyncio.sleep(120)
        assert stuck not in worker.dispatcher.busy
        stop.set()
        await task

    live(script)


def test_sink_that_raises_stops_and_delays_nothing():
    def sink(event):
        raise OSError("no space left on device")

    async def script(loop):
        launcher = Slow()
        store = await worked(loop, [a_job(n) for n in range(5)], launcher, 40, sink=sink)
        assert {run.state for run in await of_all(store)} == {State.SUCCESS}
        assert {at for _, at in launcher.begun} == {30.0}

    live(script)


def test_launches_are_on_their_way_before_anybody_is_told():
    async def script(loop):
        launcher, told = Slow(), []
        await worked(loop, [a_job(0)], launcher, 40, sink=lambda event: told.append((event.name, len(launcher.begun))))
        assert ("run_recorded", 1) in told

    live(script)


def test_host_that_hangs_leaves_others_on_time():
    async def script(loop):
        launcher = Slow()
        good = [a_job(n, takes=0.05, target=f"test:good{n % 7}") for n in range(300)]
        bad = [a_job(n, takes=60, target="test:bad", name="t") for n in range(300)]
        settings = Settings(max_slow_launches=100)
        await worked(loop, [*bad, *good], launcher, 40, settings=settings)
        late = [at - 30 for name, at in launcher.begun if name.startswith("s")]
        assert len(late) == 300
        assert max(late) < 4
        assert sum(name.startswith("t") for name, _ in launcher.begun) <= 2 * 12 + 20  # its share, twice in ten seconds

    live(script)


def test_many_hosts_that_hang_leave_others_on_time():
    """A host that was never quick holds a fast slot for half a second. All of them together hold half of the slots."""

    async def script(loop):
        launcher = Slow()
        good = [a_job(n, takes=0.05, target="test:good") for n in range(400)]
        bad = [a_job(n, takes=60, target=f"test:bad{n}", name="t") for n in range(400)]
        await worked(loop, [*bad, *good], launcher, 60, settings=Settings(max_concurrent_launches=20))
        late = sorted(at - 30 for name, at in launcher.begun if name.startswith("s"))
        assert len(late) == 400
        assert late[-1] < 5  # it would be 10 seconds until the others have left the fast slots
        assert sum(name.startswith("t") for name, _ in launcher.begun) == 400

    live(script)


def test_one_bound_holds_for_the_whole_worker():
    async def script(loop):
        launcher = Slow()
        settings = Settings(max_concurrent_launches=5, max_slow_launches=0)
        jobs = [a_job(n, takes=0.3, policy=replace(ONCE, overlap=Overlap.ALLOW)) for n in range(60)]
        await worked(loop, jobs, launcher, 100, settings=settings)
        assert launcher.most == 5

    live(script)


def test_cancels_run_beside_each_other():
    async def script(loop):
        launcher = Slow()
        policy = replace(KRON, overlap=Overlap.REPLACE, deadline=600 * SECOND, run_lease=600 * SECOND)
        await worked(loop, [a_job(n, policy=policy) for n in range(10)], launcher, 100)
        cancels = {at for name, at in launcher.begun if name.startswith("cancel")}
        assert len(cancels) == 1

    live(script)


@pytest.mark.req("SVC-RETRY-LAUNCH")
def test_receiver_that_is_away_for_two_seconds_loses_nothing():
    async def script():
        world = World("2026-03-01T11:59:00Z", answers=[LaunchResult.RETRYABLE] * 2)
        await world.define("0 12 * * *", SERVICE)
        await world.run("2026-03-01T12:01:00Z")
        (run,) = await world.store.runs("job", 5)
        assert (run.state, run.attempt) == (State.SUCCESS, 3)

    play(script())


def test_retries_go_on_until_the_deadline():
    async def script():
        world = World("2026-03-01T11:59:00Z", answers=[LaunchResult.RETRYABLE] * 10_000)
        await world.define(
            "0 12 * * *", replace(KRON, deadline=3 * 3600 * SECOND, on_worker_loss=WorkerLossPolicy.REDELIVER)
        )
        await world.run("2026-03-01T14:50:00Z")
        (run,) = await world.store.runs("job", 5)
        assert run.open
        await world.run("2026-03-01T15:10:00Z")
        (run,) = await world.store.runs("job", 5)
        assert (run.outcome, run.reason) == (Outcome.MISSED, Reason.LAUNCH_FAILED)
        assert run.changed <= run.due + 3 * 3600 * 1000

    play(script())


def test_run_keeps_the_target_of_the_revision_that_recorded_it():
    async def script():
        world = World("2026-03-01T11:59:00Z", answers=[LaunchResult.UNKNOWN])
        await world.define("0 12 * * *", FOLLOWED)
        await world.run("2026-03-01T12:00:00Z")
        case = await world.registrar.get("job")
        await world.registrar.upsert(replace(case.job, target="test:elsewhere"))
        await world.run("2026-03-01T12:01:00Z")
        assert [launch.job.target for launch in world.target.starts] == ["test:it", "test:it"]

    play(script())


def test_worker_that_died_makes_no_period_missed():
    async def script():
        world = World("2026-03-01T11:58:00Z", duration=1)
        await world.define("* * * * *", replace(SERVICE, grace=0))
        other = Worker(world.store, {"test": world.target}, world.worker.timer, owner="w0")
        await other.tick()
        await world.run("2026-03-01T12:00:30Z")  # w0 is heard of no more, and its shards are w1's after its lease
        await world.run("2026-03-01T12:05:00Z")
        assert await world.story() == "7 executed"

    play(script())


def test_unreadable_schedule_is_set_aside_and_the_others_go_on():
    class Poisoned(MemoryStore):
        async def fetch_due(self, share, upto, limit, *beyond):
            found = await super().fetch_due(share, upto, limit, *beyond)
            return [Unreadable(c.identity, c.next_check_at, "no zone") if c.identity == "bad" else c for c in found]

    async def script():
        clock = ManualClock(float(START))
        store, heard = Poisoned(clock), Memory()
        for name in ("bad", "good"):
            await Registrar(store).upsert(replace(a_job(""), identity=name))
        worker = Worker(store, {"test": Slow()}, World("2026-03-01T12:00:00Z").worker.timer, owner="w", sink=heard)
        await worker.tick()
        clock.advance(60)
        for _ in range(3):
            await worker.tick()
        assert [event.facts["identity"] for event in heard.named("schedule_set_aside")] == ["bad", "bad"]
        assert store.aside == {"bad": "no zone"}
        assert [run.state for run in await store.runs("good", 5)] == [State.SUCCESS]

    play(script())


def test_schedule_that_cannot_be_committed_is_set_aside():
    class Stubborn(MemoryStore):
        async def commit(self, settlements, now, *, together=False):
            if any(s.before and s.after.identity == "bad" for s in settlements):
                raise WriteRejected("STORE_REFUSED", "its key is taken", hint="")
            return await super().commit(settlements, now, together=together)

    async def script():
        clock = ManualClock(float(START))
        store, heard = Stubborn(clock), Memory()
        for name in ("bad", "good"):
            await Registrar(store).upsert(replace(a_job(""), identity=name))
        worker = Worker(store, {"test": Slow()}, World("2026-03-01T12:00:00Z").worker.timer, owner="w", sink=heard)
        clock.advance(60)
        await worker.tick()
        await worker.tick()
        assert store.aside == {"bad": "its key is taken"}
        assert [run.state for run in await store.runs("good", 5)] == [State.SUCCESS]
        before = len(heard.events)
        await worker.tick()
        assert [event.name for event in heard.events[before:]] == ["pass"]  # it is not spun on

    play(script())


def test_worker_rests_when_what_is_due_does_not_move(monkeypatch):
    async def script():
        world = World("2026-03-01T12:30:00Z")
        await world.define("0 * * * *")
        monkeypatch.setattr("kron.engine.worker.plan", lambda case, now, **_: Plan(case, case.cursor, now))
        world.sleep("2026-03-01T13:00:00Z")
        assert await world.tick() > 0

    play(script())


def test_started_in_the_answer_waits_for_the_report():
    async def script():
        from kron.rules.launch_result import Report

        world = World("2026-03-01T11:59:00Z", answers=[LaunchResponse(LaunchResult.OK, report=Report.STARTED)])
        await world.define("0 12 * * *", SERVICE)
        await world.run("2026-03-01T12:00:10Z")
        (run,) = await world.store.runs("job", 5)
        assert run.state is State.STARTED

    play(script())


class FirstCommitFails(MemoryStore):
    """A store whose first commit of a run fails before anything is written, and whose results are written late."""

    failed = False

    async def commit(self, updates, now, *, together=False):
        if any(update.new for update in updates) and not self.failed:
            self.failed = True
            raise StoreUnavailable("STORE_FAILED", "the store failed")
        return await super().commit(updates, now, together=together)

    async def update_runs(self, changes, now):
        await asyncio.sleep(0.005)
        return await super().update_runs(changes, now)


@pytest.mark.parametrize("lookahead", [0, 10_000])
def test_run_whose_claim_is_withdrawn_is_not_claimed_again_before_that_is_recorded(lookahead):
    """Both claims would have the same token, and the sent one would be recorded as withheld and sent again."""

    async def script(loop):
        launcher, store = Slow(), FirstCommitFails(VirtualClock(loop, START - 30))
        settings = Settings(lookahead=lookahead)
        await worked(loop, [a_job(0, takes=0.05)], launcher, 50, settings=settings, store=store)
        (first, *_) = reversed(await store.runs("s0", 10))
        assert store.failed
        assert [name for name, at in launcher.begun if at < 40] == ["s0"]
        assert (first.state, first.outcome, first.tries) == (State.SUCCESS, Outcome.EXECUTED, 1)

    live(script)


def test_worker_that_stops_waits_for_the_record_of_functions_that_have_ended():
    """The launcher records the end of a function that never waits, after `start` has answered."""

    async def script(loop):
        store = SlowReports(VirtualClock(loop, START - 30))
        (run,) = await stopped_during_a_report(store)
        assert (run.state, run.outcome) == (State.SUCCESS, Outcome.EXECUTED)

    live(script)


def test_worker_that_stops_does_not_wait_for_ever_for_a_record():
    async def script(loop):
        store, began = SlowReports(VirtualClock(loop, START - 30), seconds=1e6), loop.time()
        (run,) = await stopped_during_a_report(store)
        assert run.state is State.LAUNCHING
        assert loop.time() - began < 60

    live(script)


class SlowReports(MemoryStore):
    """A store that needs a while to write how runs ended."""

    def __init__(self, clock, seconds=0.3):
        super().__init__(clock)
        self.seconds = seconds

    async def update_runs(self, changes, now):
        await asyncio.sleep(self.seconds)
        return await super().update_runs(changes, now)


async def stopped_during_a_report(store):
    """The runs of a job whose worker was stopped as soon as its function had ended."""
    stop, reports = asyncio.Event(), ReportWriter(store)

    async def report(launch, said, error):
        stop.set()
        await reports.write(launch.run.key, said, launch.run.attempt)

    async def nothing(launch):
        pass

    await Registrar(store).upsert(Job("job", parse("0 * * * *", dialect="service"), target="python:it"))
    launchers = {"python": PythonLauncher({"it": nothing}.get, report, lambda: ["it"])}
    timer = VirtualTimer(asyncio.get_running_loop())
    await Worker(store, launchers, owner="w", timer=timer, settings=Settings()).run(stop)
    return [run for run in await store.runs("job", 10) if run.attempt]
