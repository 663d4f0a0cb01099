"""Retries: how many there are, how long Kron waits before each, and what counts as one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.rules.delay import launch_delay, retry_delay, total_launch_delay
from kron.rules.launch_result import LaunchResult, Report, answered, reported
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import claimed
from kron.rules.run_state import State
from kron.timing.schedule.policy import DECLARATIVE, KRON, MILLISECOND, SECOND, SERVICE, WorkerLossPolicy
from tests.rules.test_attempts import planned
from tests.stores.making import NOW, a_run

LIMITED = replace(SERVICE, launch_attempts=3)


def launched(run, now=NOW):
    return claimed(run, "w1", now + 30_000, now)


def refusals(run, policy, result=LaunchResult.RETRYABLE):
    """The run after its target has refused every attempt, and how many attempts there were."""
    count, now = 0, NOW
    while True:
        run, count = answered(launched(run, now), result, policy, now), count + 1
        if run.state is not State.RETRY or count > 50:
            return run, count
        now = run.not_before


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_launch_ends_after_its_last_attempt(limit):
    run, count = refusals(a_run(), replace(SERVICE, launch_attempts=limit))
    assert (run.state, run.outcome, run.reason) == (State.FAILED, Outcome.MISSED, Reason.LAUNCH_FAILED)
    assert (count, run.attempt) == (limit, limit)


def test_launch_that_may_have_arrived_is_unknown_after_its_last_attempt():
    run, count = refusals(a_run(), LIMITED, LaunchResult.UNKNOWN)
    assert (run.state, run.outcome, run.reason, count) == (State.UNKNOWN, Outcome.EXECUTED, Reason.UNKNOWN, 3)


def test_withheld_attempt_does_not_count_for_the_limit():
    run = a_run()
    for _ in range(10):
        run = answered(launched(run), LaunchResult.UNSENT, LIMITED, NOW)
    assert (run.unsent, run.launch_tries) == (10, 0)
    assert refusals(run, LIMITED)[1] == 3


def test_launch_of_a_retry_has_all_attempts_again():
    """The attempts of an execution that its target accepted are used up by that execution, and by no other."""
    policy = replace(LIMITED, retry_after=0, completion=KRON.completion)
    run = answered(launched(a_run()), LaunchResult.RETRYABLE, policy, NOW)
    run = reported(answered(launched(run), LaunchResult.OK, policy, NOW), Report.FAILED, policy, NOW)
    assert (run.state, run.tries, run.launch_tries) == (State.WAITING, 2, 0)
    run, count = refusals(run, policy)
    assert (run.state, run.outcome, run.reason, count) == (State.FAILED, Outcome.EXECUTED, Reason.LAUNCH_FAILED, 3)


@pytest.mark.parametrize("loss", [WorkerLossPolicy.REDELIVER, WorkerLossPolicy.RESTART])
@pytest.mark.parametrize(("attempt", "state"), [(2, State.LAUNCHING), (3, State.UNKNOWN)])
def test_launch_whose_workers_are_lost_ends_after_its_last_attempt(loss, attempt, state):
    run = a_run(State.LAUNCHING, attempt=attempt, lease=NOW)
    assert planned(run, replace(LIMITED, on_worker_loss=loss)).state is state


@given(st.integers(1, 200), st.integers(0, 10**12), st.sampled_from([None, Outcome.EXECUTED]))
def test_launch_delay_is_by_default_what_it_always_was(tries, backoff, outcome):
    """The same numbers as before the delay had a factor, a maximum and a jitter of its own."""
    from zlib import crc32

    run, policy = a_run(State.LAUNCHING, attempt=tries, outcome=outcome), replace(KRON, launch_backoff=backoff)
    first = backoff // MILLISECOND
    delay = min(max(first, 60_000 if outcome is None else 30_000), first << min(tries - 1, 20))
    assert launch_delay(run, policy) == delay - delay * (crc32(f"{run.key}:{run.attempt}".encode()) % 256) // 1024
    least = max(1, first)
    total = sum(min(max(least, 60_000), least << min(n, 20)) for n in range(tries))
    assert total_launch_delay(run, policy) == total


def test_launch_delay_grows_by_the_factor_up_to_the_maximum():
    policy = replace(KRON, launch_factor=3, launch_max_delay=20 * SECOND, launch_jitter=0)
    delays = [launch_delay(a_run(State.LAUNCHING, attempt=n), policy) for n in range(1, 6)]
    assert delays == [1_000, 3_000, 9_000, 20_000, 20_000]


def failures_of(policy, restarts=0):
    """The retry delays of a run whose every execution fails, and the run at its end."""
    run, now, delays = a_run(), NOW, []
    while True:
        for _ in range(restarts):  # the worker is lost, and the run starts again: no failure
            run = answered(launched(run, now), LaunchResult.OK, policy, now)
            run = planned(run._replace(lease=now), policy, now)
            run = answered(run, LaunchResult.UNSENT, policy, now)
        run = answered(launched(run, now), LaunchResult.OK, policy, now)
        run = reported(run, Report.FAILED, policy, now, run.attempt)
        if run.state is not State.WAITING or len(delays) > 20:
            return delays, run
        delays.append(run.not_before - now)
        now = run.not_before


@pytest.mark.parametrize("limit", [0, 1, 4])
@pytest.mark.parametrize("restarts", [0, 2])
def test_failed_run_ends_after_its_last_retry(limit, restarts):
    delays, run = failures_of(replace(DECLARATIVE, retry_after=5 * SECOND, retry_attempts=limit), restarts)
    assert delays == [5_000] * limit
    assert (run.state, run.outcome, run.reason, run.failures) == (
        State.FAILED,
        Outcome.EXECUTED,
        Reason.FAILED,
        limit + 1,
    )


def test_retry_delay_grows_by_the_factor_up_to_the_maximum():
    policy = replace(DECLARATIVE, retry_after=SECOND, retry_attempts=5, retry_factor=4, retry_max_delay=60 * SECOND)
    assert failures_of(policy)[0] == [1_000, 4_000, 16_000, 60_000, 60_000]


def test_maximum_below_the_first_delay_leaves_the_first_delay():
    policy = replace(DECLARATIVE, retry_after=10 * SECOND, retry_attempts=2, retry_factor=4, retry_max_delay=SECOND)
    assert failures_of(policy)[0] == [10_000, 10_000]


@given(st.integers(0, 100), st.integers(1, 30))
def test_jitter_makes_a_retry_delay_shorter_by_at_most_its_percentage(percent, attempt):
    run = a_run(State.STARTED, attempt=attempt, failures=1)
    delay = retry_delay(run, replace(KRON, retry_jitter=percent), 100_000)
    assert 100_000 - percent * 1_000 <= delay <= 100_000


def test_growing_delay_without_a_maximum_stays_within_a_year():
    run = a_run(State.STARTED, failures=1_000)
    assert retry_delay(run, replace(KRON, retry_factor=100), 1) == 366 * 86_400_000
