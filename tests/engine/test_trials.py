"""Trials of addresses: runs that fail hold the runs of the same host that work for no longer than the longest hold."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kron.engine.settings import Settings
from kron.engine.trials import Trials
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.run_state import State
from kron.timing.schedule.policy import SERVICE
from tests.engine.test_dispatcher import START, Slow, a_job, live, of_all, worked

NOW = 1_800_000_000_000
OK, FAILED = LaunchResponse(LaunchResult.OK), LaunchResponse(LaunchResult.RETRYABLE, code=503)
DUE = 30  # seconds of the loop at which the jobs are due


class Host(Slow):
    """A launcher of one host. Jobs whose names begin with `bad` fail."""

    def lane(self, job):
        return "host"

    async def start(self, launch):
        await super().start(launch)
        return FAILED if launch.run.identity.startswith("bad") else OK

    def first_sent(self, name):
        first = {}
        for identity, at in self.begun:
            if identity.startswith(name):
                first.setdefault(identity, at)
        return first


def jobs_of(name, addresses, takes=0.0, minute=0):
    """Jobs that run once: one for each address."""
    return [
        replace(
            a_job(n, takes=takes, policy=SERVICE, target=f"test:host/{address}", name=f"{name}{minute}-"),
            start=START + 60 * minute - 1,
            end=START + 60 * minute,
        )
        for n, address in enumerate(addresses)
    ]


def test_address_that_fails_does_not_hold_an_address_that_works():
    async def script(loop):
        launcher = Host()
        jobs = [*jobs_of("bad", ["503"] * 100, takes=0.01), *jobs_of("good", ["ok"] * 5, takes=0.01)]
        await worked(loop, jobs, launcher, DUE + 70)
        sent = launcher.first_sent("good")
        assert len(sent) == 5
        assert max(sent.values()) <= DUE + 60 + 1

    live(script)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 90).map(lambda count: 91 - count),
    st.integers(1, 6),
    st.lists(st.integers(0, 3), min_size=1, max_size=12),
    st.lists(st.integers(0, 3), max_size=12),
    st.sampled_from([0.0, 0.02, 0.7, 3.0, 8.0]),
    st.sampled_from([0.0, 0.02, 0.7]),
    st.sampled_from([(10_000, 60_000), (5_000, 20_000), (60_000, 60_000)]),
)
def test_working_run_is_sent_within_the_longest_hold(bad, spread, good, later, bad_takes, good_takes, holds):
    """Addresses work or fail, in any mix. A run of one that works waits for the longest hold and one tick at most."""

    async def script(loop):
        launcher, limits = Host(), Settings(breaker_hold=holds[0], breaker_max_hold=holds[1])
        jobs = [
            *jobs_of("bad", [f"bad{n % spread}" for n in range(bad)], takes=bad_takes),
            *jobs_of("good", [f"good{n}" for n in good], takes=good_takes),
            *jobs_of("good", [f"good{n}" for n in later], takes=good_takes, minute=1),
        ]
        await worked(loop, jobs, launcher, DUE + 60 + 70, settings=limits)
        for minute, count in enumerate((len(good), len(later))):
            sent = launcher.first_sent(f"good{minute}")
            assert len(sent) == count
            latest = DUE + 60 * minute + (holds[1] + limits.tick) / 1000
            assert max(sent.values(), default=0) <= latest

    live(script)


def test_runs_of_one_address_that_fail_and_work_are_sent_in_the_end():
    """Nothing tells them apart. Runs that have not failed are probes first, and longest holds have more probes."""

    async def script(loop):
        launcher = Host()
        jobs = [*jobs_of("bad", ["it"] * 100), *jobs_of("good", ["it"] * 5)]
        store = await worked(loop, jobs, launcher, DUE + 900)
        good = [run for run in await of_all(store) if run.identity.startswith("good")]
        assert {run.state for run in good} == {State.SUCCESS}
        first_bad = [at for _, at in launcher.begun if DUE + 1 < at < DUE + 10 * 60]
        assert len(first_bad) < 100 + 60, "and the host is spared"

    live(script)


def test_host_with_many_addresses_is_not_stormed():
    """Each address of a host that is down is tried once a minute, and at most 10 of them in a second."""

    async def script(loop):
        launcher = Host()
        await worked(loop, jobs_of("bad", [f"bad{n}" for n in range(300)]), launcher, DUE + 200)
        times = [at for _, at in launcher.begun if at > DUE + 1]
        assert max(sum(begin <= at < begin + 1 - 1e-6 for at in times) for begin in times) <= 10 + 1
        assert all(sum(minute <= at < minute + 60 for at in times) <= 300 + 3 for minute in (31, 91, 151))

    live(script)


def test_address_is_tried_after_its_wait_and_in_turn():
    trials = Trials(60_000, 10_000)
    assert trials.wait("a", "x", NOW) == trials.wait("a", "y", NOW) == NOW + 30_000
    assert trials.wait("a", "x", NOW + 30_000) == NOW + 30_000
    assert trials.wait("a", "y", NOW + 30_000) == NOW + 30_100
    trials.begin("a", "x", NOW + 30_000)
    assert trials.wait("a", "x", NOW + 30_001) == NOW + 31_001, "the others wait for the result"
    trials.fail("a", "x", NOW + 30_050)
    assert trials.wait("a", "x", NOW + 31_001) == NOW + 90_050
    trials.begin("a", "y", NOW + 30_100)
    trials.answer("a", "y", NOW + 30_150, is_held=True)
    assert trials.wait("a", "y", NOW + 30_160) == NOW + 30_160, "it works"
    assert trials.wait("a", "y", NOW + 90_150) == NOW + 120_150, "for as long as the longest hold"


def test_trial_that_was_not_sent_leaves_its_place_to_another():
    trials = Trials(60_000, 10_000)
    trials.wait("a", "x", NOW)
    trials.begin("a", "x", NOW + 30_000)
    trials.withdraw("a", "x", NOW + 30_001)
    assert trials.wait("a", "x", NOW + 30_002) == NOW + 30_002


def test_number_of_known_addresses_is_bounded(monkeypatch):
    monkeypatch.setattr("kron.engine.trials.MAX_KNOWN_ADDRESSES", 3)
    trials = Trials(60_000, 10_000)
    for n in range(10):
        trials.fail("a", f"{n}", NOW)
        trials.answer("b", f"{n}", NOW, is_held=False)
    assert [*trials.trials] == [("a", "7"), ("a", "8"), ("a", "9")]
