"""A failed run that waits for its retry, and another run that starts meanwhile."""

from dataclasses import replace

import pytest

from kron.rules.outcome import Reason
from kron.rules.plan import plan, plan_full
from kron.rules.run_state import State
from kron.rules.update import can_commit, update_of
from kron.timing.schedule.policy import KRON, SECOND, Overlap
from tests.stores.making import NOW, a_case, a_job, a_run

RETRYING = replace(KRON, deadline=None, retry_after=10**6 * SECOND, retry_attempts=3)
KEEPING = {Overlap.ALLOW, Overlap.QUEUE}


def waiting(minute, **more):
    return a_run(State.WAITING, minute, reason=Reason.FAILED, not_before=NOW + 10**9, failures=1, launched=1, **more)


def after_pass(policy, *runs, cursor=None):
    """Plan two minutes later, and return the states of the runs by key."""
    cursor = max(run.nominal for run in runs) if cursor is None else cursor
    state = a_case()._replace(job=a_job(policy=policy), open_runs=runs, cursor=cursor)
    made = plan(state, NOW + 120_000, owner="w", lease=30_000)
    assert made == plan_full(state, NOW + 120_000, owner="w", lease=30_000)
    update = update_of(made)
    assert can_commit(update, state, ())
    changed = {run.key: run.state for run in (*(after for _, after in update.changed), *update.new)}
    return {run.key: run.state for run in runs} | changed


@pytest.mark.parametrize("overlap", Overlap)
def test_newer_period_supersedes_a_retry_unless_every_period_counts(overlap):
    failed = waiting(1)
    states = after_pass(replace(RETRYING, overlap=overlap), failed)
    assert states.pop(failed.key) is (State.WAITING if overlap in KEEPING else State.FAILED)
    assert list(states.values()) == [State.LAUNCHING]


@pytest.mark.parametrize("overlap", Overlap)
@pytest.mark.parametrize("trigger", ["by-hand", "backfill:r", "redrive:r"])
def test_requested_run_supersedes_no_retry(overlap, trigger):
    failed, requested = waiting(2), a_run(State.PENDING, 1, trigger=trigger)
    states = after_pass(replace(RETRYING, overlap=overlap), failed, requested)
    assert states == {failed.key: State.WAITING, requested.key: State.LAUNCHING}


@pytest.mark.parametrize("overlap", sorted(KEEPING))
def test_retries_that_wait_are_bounded(overlap):
    runs = [waiting(minute, identity="a") for minute in range(-9, 2)]
    states = after_pass(replace(RETRYING, overlap=overlap, queue_limit=4), *runs)
    assert [states[run.key] for run in runs] == [State.FAILED] * 7 + [State.WAITING] * 4


def test_retry_that_was_kept_waits_for_the_active_run_and_then_runs():
    policy = replace(RETRYING, overlap=Overlap.QUEUE)
    ready = waiting(1)._replace(not_before=NOW)
    active = a_run(State.STARTED, 2, lease=NOW + 10**9)
    assert after_pass(policy, ready, active)[ready.key] is State.WAITING
    assert after_pass(policy, ready, cursor=NOW // 1000 + 120)[ready.key] is State.LAUNCHING
