"""Circuit breaker of a worker: it opens, holds, probes, closes and doubles. It delays runs, and never loses one."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from kron import parse
from kron.engine.breaker import Breakers
from kron.engine.claim import Claim
from kron.engine.events import Memory, about
from kron.engine.log_events import level_of, text_of
from kron.engine.metrics import Metrics
from kron.engine.settings import Settings
from kron.engine.target_limit import read_limits
from kron.rules.attempt import AttemptResult
from kron.rules.launch_result import LaunchResponse, LaunchResult, last_launch
from kron.rules.outcome import Reason
from kron.rules.plan import Plan
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.timing.job import Job
from kron.timing.schedule.policy import MILLISECOND, MINUTE, SECOND, SERVICE, Overlap
from tests.engine.test_dispatcher import START, Slow, a_job, live, of_all, worked

NOW = 1_800_000_000_000
RUN = Run("k", "a", NOW // 1000, 1, NOW, State.LAUNCHING, attempt=1, created=NOW)
OK, FAILED = LaunchResponse(LaunchResult.OK), LaunchResponse(LaunchResult.RETRYABLE, code=503)
UNKNOWN = LaunchResponse(LaunchResult.UNKNOWN)
REFUSED = LaunchResponse(LaunchResult.REJECTED, code=404)
FORBIDDEN, UNSENT = LaunchResponse(LaunchResult.REJECTED), LaunchResponse(LaunchResult.UNSENT)
DEADLINE = replace(SERVICE, deadline=30 * SECOND)


def made(**more):
    events = Memory()
    return Breakers(Settings(**more), events), events


def opened(**more):
    """Breakers of which that of `a` has just opened."""
    breakers, events = made(**more)
    for _ in range(breakers.settings.breaker_failures):
        breakers.record("a", FAILED, NOW)
    return breakers, events


def a_claim(run=RUN, policy=SERVICE, target="a", text="0 0 1 1 *", new=()):
    job = Job("a", replace(parse(text, dialect="kron"), policy=policy))
    plan = Plan(ScheduleState(job, 1, run.nominal, NOW), run.nominal, None, new)
    return Claim(job, run, 0.0, NOW, plan, target=target)


def held(breakers, at, *claim, **more):
    hold = breakers.hold(a_claim(*claim, **more), at)
    return None if hold is None else hold.until


def test_target_is_held_after_failed_launches_in_a_row():
    breakers, events = made()
    for n in range(10):
        assert held(breakers, NOW + n) is None
        breakers.record("a", (FAILED, UNKNOWN)[n % 2], NOW + n)
    hold = breakers.hold(a_claim(), NOW + 100)
    assert hold.until == NOW + 9 + 10_000
    assert hold.cause == "the worker holds a after 10 failed launches, until 2027-01-15T08:00:11Z"
    assert held(breakers, NOW + 100, target="b") is None
    (event,) = events.events
    assert (event.name, event.facts) == (
        "breaker_opened",
        {"target": "a", "failures": 10, "until": NOW + 10_009, "held": 1},
    )


@pytest.mark.parametrize("response", [OK, REFUSED], ids=["accepted", "refused with a status"])
def test_answer_of_the_target_ends_the_series_of_failures(response):
    breakers, _ = made()
    for n in range(30):
        breakers.record("a", response if n % 10 == 9 else FAILED, NOW)
    assert held(breakers, NOW) is None


@pytest.mark.parametrize("response", [FORBIDDEN, UNSENT], ids=["refused here", "not sent"])
def test_result_that_is_not_of_the_target_does_not_count(response):
    breakers, _ = made()
    for _ in range(9):
        breakers.record("a", FAILED, NOW)
        breakers.record("a", response, NOW)
    assert held(breakers, NOW) is None
    breakers.record("a", FAILED, NOW)
    assert held(breakers, NOW) is not None


def test_hold_ends_with_one_probe_and_the_others_wait_for_it():
    breakers, _ = opened()
    assert held(breakers, NOW + 9_999) == NOW + 10_000
    assert held(breakers, NOW + 10_000) is None
    breakers.begin("a", NOW + 10_000)
    assert held(breakers, NOW + 10_100) == NOW + 10_100 + 1_000
    assert held(breakers, NOW + 14_000) == NOW + 14_000 + 4_000 + 10, "longer, the longer the probe takes"
    cause = breakers.hold(a_claim(), NOW + 14_000).cause
    assert cause == "the worker holds a after 10 failed launches, and waits for the result of its probe"
    breakers.record("a", FAILED, NOW + 14_500)
    cause = breakers.hold(a_claim(), NOW + 14_600).cause
    assert cause == "the worker holds a after 11 failed launches, until 2027-01-15T08:00:35Z"


def test_held_runs_return_one_after_the_other():
    breakers, _ = opened()
    returns = [held(breakers, NOW + 1) for _ in range(500)]
    assert returns[:3] == [NOW + 10_000, NOW + 10_010, NOW + 10_020]
    assert returns[-1] == NOW + 12_000


def test_probe_that_succeeds_releases_the_target():
    breakers, events = opened()
    breakers.begin("a", NOW + 10_000)
    breakers.record("a", OK, NOW + 10_050)
    assert held(breakers, NOW + 10_060) is None
    assert [event.name for event in events.events] == ["breaker_opened", "breaker_closed"]
    assert events.events[-1].facts["held"] == 0
    for _ in range(9):
        breakers.record("a", FAILED, NOW + 11_000)
    assert held(breakers, NOW + 11_000) is None, "it counts from 0 again"


def test_probe_that_fails_doubles_the_hold_up_to_its_maximum():
    breakers, events = opened()
    lengths, now = [], NOW + 10_000
    for _ in range(5):
        breakers.begin("a", now)
        breakers.record("a", FAILED, now + 5)
        lengths.append(held(breakers, now + 6) - now - 5)
        now += 5 + lengths[-1]
    assert lengths == [20_000, 40_000, 60_000, 60_000, 60_000]
    assert len(events.named("breaker_opened")) == 1


def test_failure_of_an_older_launch_does_not_double_the_hold():
    breakers, _ = opened()
    breakers.record("a", FAILED, NOW + 5_000)
    assert held(breakers, NOW + 5_001) == NOW + 10_000


@pytest.mark.parametrize("response", [UNSENT, FORBIDDEN])
def test_probe_that_was_not_sent_leaves_its_place_to_another(response):
    breakers, _ = opened()
    breakers.begin("a", NOW + 10_000)
    breakers.record("a", response, NOW + 10_001)
    assert held(breakers, NOW + 10_002) is None


def test_probe_without_a_result_does_not_block_the_next_one():
    breakers, _ = opened()
    breakers.begin("a", NOW + 10_000)
    assert held(breakers, NOW + 10_000 + 2 * breakers.settings.timeout) is None


def test_clock_that_is_set_back_does_not_extend_a_hold():
    breakers, _ = opened()
    assert held(breakers, NOW - 3_600_000) is None


def test_breaker_that_is_switched_off_never_opens():
    breakers, events = made(breaker_failures=0)
    for _ in range(100):
        breakers.record("a", FAILED, NOW)
    assert held(breakers, NOW) is None
    assert not events.events
    assert not breakers.breakers


def test_number_of_counted_targets_is_bounded(monkeypatch):
    monkeypatch.setattr("kron.engine.breaker.MAX_COUNTED_TARGETS", 3)
    breakers, _ = made()
    for n in range(10):
        breakers.record(f"h{n}", FAILED, NOW)
    assert [*breakers.breakers] == ["h7", "h8", "h9"]


@given(st.integers(0, 40_000), st.integers(0, 60_000), st.booleans(), st.integers(0, 300), st.integers(1, 3))
@example_settings(deadline=None)
def test_no_run_is_held_past_its_deadline(at, deadline, is_probing, before, tries):
    """A run that would return less than 2 seconds before its deadline is sent at once, or returns at that moment."""
    breakers, _ = opened()
    if is_probing:
        breakers.begin("a", NOW + 10_000)
    for _ in range(before):
        held(breakers, NOW + 1)
    policy = replace(SERVICE, deadline=deadline * MILLISECOND)
    free = held(breakers, NOW + at)
    until = held(breakers, NOW + at, RUN._replace(attempt=tries), policy)
    last = last_launch(RUN, policy)
    assert until is None or until + 2_000 <= last
    assert tries > 1 or until is None or until >= free, "a run that was never sent is held for the whole hold or not"
    assert free is None or until is not None or last < free + 2_000 + 10, "and only those runs are sent"


@pytest.mark.parametrize("overlap", Overlap)
@pytest.mark.parametrize("tries", [1, 2])
def test_no_run_is_held_until_the_next_period_excludes_it(overlap, tries):
    """A held run is active: the next period would be skipped for it, or replace it, though nothing was sent."""
    breakers, _ = opened(breaker_hold=90_000, breaker_max_hold=90_000)
    is_safe = overlap in (Overlap.ALLOW, Overlap.QUEUE)
    policy, run = replace(SERVICE, overlap=overlap), RUN._replace(attempt=tries)
    until = held(breakers, NOW + 100, run, policy, text="* * * * *")
    assert until == (NOW + 90_000 if is_safe else None if tries == 1 else NOW + 58_000)
    assert held(breakers, NOW + 57_500, run, policy, text="* * * * *") == (NOW + 90_010 if is_safe else None)
    assert held(breakers, NOW + 100, run, policy, text="0 * * * *") is not None


def test_no_run_is_held_for_which_another_was_skipped():
    """After a downtime, several periods are due at once: one of them runs, and the others were skipped for it."""
    breakers, _ = opened()
    skipped = RUN._replace(key="l", state=State.SKIPPED, reason=Reason.OVERLAP)
    assert held(breakers, NOW + 100) is not None
    assert held(breakers, NOW + 100, new=(RUN, skipped)) is None


def test_no_run_is_held_until_a_waiting_run_is_due():
    breakers, _ = opened()
    waiting, first = RUN._replace(key="l", state=State.PENDING, not_before=NOW + 9_000), RUN._replace(attempt=2)
    assert held(breakers, NOW + 100, first, new=(first, waiting)) == NOW + 7_000
    assert held(breakers, NOW + 100, new=(RUN, waiting)) is None


def test_no_run_is_held_that_could_use_up_the_overlap_limit():
    breakers, _ = opened(breaker_hold=90_000, breaker_max_hold=90_000)
    policy = replace(SERVICE, overlap=Overlap.ALLOW, overlap_limit=3)
    assert held(breakers, NOW + 100, policy=policy, text="* * * * *") is None


def test_run_that_was_executed_before_has_no_deadline():
    """It is to run again. It has its outcome, and no deadline ends it."""
    breakers, _ = opened()
    policy = replace(SERVICE, deadline=SECOND)
    assert held(breakers, NOW + 1, policy=policy) is None
    assert held(breakers, NOW + 1, RUN._replace(outcome="executed"), policy) == NOW + 10_000


def test_events_are_logged_and_counted():
    breakers, events = opened()
    breakers.record("a", OK, NOW + 10_000)
    metrics = Metrics()
    metrics(events.events[0])
    assert "kron_targets_held 1.0" in metrics.text()
    metrics(events.events[1])
    text = metrics.text()
    assert "kron_targets_held 0.0" in text
    assert "kron_breakers_opened_total 1" in text
    assert "kron_breakers_closed_total 1" in text
    assert [text_of(event) for event in events.events] == [
        "target a held after 10 failed launches, until 2027-01-15T08:00:10.000Z",
        "target a released: a launch succeeded",
    ]
    assert [level_of(event) for event in events.events] == [30, 20]
    withheld = about("launch_withheld", NOW, RUN, why="the limit of a (5 launches per second) is reached", target="a")
    assert level_of(withheld) == 10, "one line per run would fill the log"


def test_hold_that_has_passed_is_not_counted():
    """A target whose runs are gone is not held: no later launch says so."""
    breakers, _ = opened()
    assert [breakers.count(NOW + at) for at in (1, 9_999, 12_999, 13_001)] == [1, 1, 1, 0]
    breakers.begin("a", NOW + 20_000)
    assert [breakers.count(NOW + at) for at in (20_001, 29_999, 30_001)] == [1, 1, 0], "while the probe is in progress"
    breakers.record("a", FAILED, NOW + 20_100)
    assert [breakers.count(NOW + at) for at in (20_101, 40_000, 60_000)] == [1, 1, 0]


def test_gauge_of_held_targets_goes_down_without_a_launch():
    async def script(loop):
        metrics, gauges = Metrics(), {}

        def sink(event):
            metrics(event)
            gauges[int(loop.time())] = metrics.gauges["kron_targets_held"]

        policy = replace(SERVICE, launch_attempts=1)
        await worked(loop, jobs_of("down", 12, policy), Down(1_000), 60, sink=sink)
        assert gauges[31] == gauges[40] == 1
        assert gauges[59] == 0, "all runs were given up"

    live(script)


class Down(Slow):
    """A launcher whose target `down` fails until an instant of the loop."""

    def __init__(self, until, answer=FAILED):
        super().__init__()
        self.until, self.failure = until, answer

    async def start(self, launch):
        await super().start(launch)
        is_down = self.lane(launch.job) == "down" and asyncio.get_running_loop().time() < self.until
        return self.failure if is_down else OK

    def sent(self, name):
        return [at for identity, at in self.begun if identity.startswith(name)]


def jobs_of(target, count, policy=SERVICE):
    return [replace(a_job(n, policy=policy, target=f"test:{target}", name=target), end=START) for n in range(count)]


def test_target_that_is_down_is_spared_and_others_are_on_time():
    """200 runs of a target that is away for 100 seconds: it gets the first launches, and then one for each hold."""

    async def script(loop):
        launcher, events = Down(130), Memory()
        jobs = [*jobs_of("down", 200), *jobs_of("up", 100)]
        store = await worked(loop, jobs, launcher, 300, sink=events)
        runs = await of_all(store)
        assert {run.state for run in runs} == {State.SUCCESS}
        down = launcher.sent("down")
        first = sum(at < 31 for at in down)
        assert 10 <= first <= 10 + Settings().max_concurrent_launches
        assert sum(31 <= at < 130 for at in down) <= 4, "probes after 10, 20, 40 and 60 seconds"
        assert max(launcher.sent("up")) < 31
        assert len(events.named("breaker_opened")) == len(events.named("breaker_closed")) == 1
        assert max(down) < 130 + 60 + 10, "the last hold, and the runs return"

    live(script)


def test_held_run_is_no_attempt_and_its_cause_is_recorded():
    async def script(loop):
        launcher = Down(45)
        limited = replace(SERVICE, launch_attempts=2)
        store = await worked(loop, jobs_of("down", 60, limited), launcher, 150)
        runs = await of_all(store)
        assert {run.state for run in runs} == {State.SUCCESS}, "a hold uses up no attempt"
        assert max(run.unsent for run in runs) >= 2
        assert max(run.tries for run in runs) <= 2
        attempts = [each for each in await store.attempts([run.key for run in runs]) if each]
        withheld = [attempt for each in attempts for attempt in each if attempt.result is AttemptResult.UNSENT]
        assert all(attempt.excerpt.startswith("the worker holds down after ") for attempt in withheld)
        assert len(withheld) == sum(run.unsent for run in runs)

    live(script)


def test_run_is_sent_to_a_held_target_before_its_deadline():
    async def script(loop):
        launcher = Down(1_000)
        first = jobs_of("down", 15)
        urgent = [replace(job, identity=f"urgent{n}") for n, job in enumerate(jobs_of("down", 30, DEADLINE))]
        store = await worked(loop, [*first, *urgent], launcher, 120)
        runs = [run for run in await of_all(store) if run.identity.startswith("urgent")]
        assert all(run.tries for run in runs), "none was only held"
        sent = {name for name, _ in launcher.begun}
        assert sent >= {run.identity for run in runs}

    live(script)


def test_run_without_a_deadline_is_sent_after_its_holds():
    """Launches are retried for 1 minute. Holds take longer, and each run still gets its attempts."""

    async def script(loop):
        launcher = Down(400)
        policy = replace(SERVICE, launch_for=MINUTE)
        settings = Settings(breaker_hold=100_000, breaker_max_hold=200_000)
        store = await worked(loop, jobs_of("down", 100, policy), launcher, 700, settings=settings)
        runs = await of_all(store)
        held = [run for run in runs if run.unsent and run.tries == 1]
        assert len(held) > 50
        assert {run.state for run in held} == {State.SUCCESS}

    live(script)


def test_functions_and_commands_of_this_host_are_never_held():
    class Local(Down):
        is_local = True

    async def script(loop):
        launcher, events = Local(45), Memory()
        await worked(loop, jobs_of("down", 60), launcher, 60, sink=events)
        assert len(launcher.sent("down")) >= 60
        assert not events.named("breaker_opened")

    live(script)


def test_timeout_and_exception_of_a_launcher_count_as_failures():
    class Broken(Slow):
        async def start(self, launch):
            if launch.run.identity.endswith("1"):
                await asyncio.sleep(60)
            raise OSError("no route")

    async def script(loop):
        events = Memory()
        await worked(loop, jobs_of("down", 40), Broken(), 60, sink=events)
        assert events.named("breaker_opened")

    live(script)


def test_held_runs_of_a_limited_target_leave_their_lane():
    """A run that is not sent takes nothing of the rate: the others behind it are held, too, and return together."""

    async def script(loop):
        launcher, opened_at, held_at = Down(1_000), [], {}
        settings = Settings(target_limits=read_limits(["down=2/s"]), breaker_failures=3)

        def sink(event):
            if event.name == "breaker_opened":
                opened_at.append(loop.time())
            elif event.name == "launch_withheld" and "holds" in event.facts["why"]:
                held_at.setdefault(event.facts["key"], loop.time())

        await worked(loop, jobs_of("down", 20), launcher, 45, settings=settings, sink=sink)
        assert len(held_at) >= 16
        assert max(held_at.values()) < opened_at[0] + 1.5, "at 2 per second it would take 8 seconds"

    live(script)
