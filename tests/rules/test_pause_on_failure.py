"""`pause_on_failure`: after so many failed runs in a row, the schedule is paused."""

from dataclasses import replace

import pytest

from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.counters import failed_end
from kron.rules.edit import defined
from kron.rules.outcome import Reason
from kron.rules.pause import NO_ACTOR, paused, resumed
from kron.rules.plan import plan, plan_full
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, can_commit, is_simple_insert, state_after, update_of
from kron.timing.schedule.policy import KRON, MINUTE, SECOND, Overlap
from tests.stores.making import NOW, a_case, a_job, a_run

POLICY = replace(KRON, deadline=None, overlap=Overlap.ALLOW, pause_on_failure=3)


def counting(count=0, policy=POLICY, **state):
    return a_case()._replace(job=a_job(policy=policy), failure_count=count, **state)


def committed(state, now):
    made = plan(state, now, owner="w", lease=30_000)
    assert made == plan_full(state, now, owner="w", lease=30_000)
    update = update_of(made)
    assert can_commit(update, state, ())
    return update


@pytest.mark.parametrize(
    ("state", "counts"),
    [
        (State.FAILED, True),
        (State.SUCCESS, False),
        *((state, None) for state in State if state not in (State.FAILED, State.SUCCESS)),
    ],
)
def test_failed_runs_count_and_a_success_resets(state, counts):
    assert failed_end(a_run(state), POLICY) is counts
    assert failed_end(a_run(state), KRON) is None


def test_run_update_counts_for_its_own_revision_only():
    state, run = counting(2, next_check_at=NOW + 5), a_run(State.STARTED)
    failed = RunUpdate(run, run._replace(state=State.FAILED), NOW, failed=True)
    assert state_after(state, failed)._replace(next_check_at=None) == counting(3, next_check_at=None)
    assert state_after(state, failed).next_check_at == NOW
    assert state_after(state, failed._replace(failed=False)).failure_count == 0
    assert state_after(state, failed._replace(failed=None)).failure_count == 2
    assert state_after(state._replace(revision=2), failed).failure_count == 2


def test_failures_pause_before_anything_is_launched():
    waiting = a_run(minute=0)
    update = committed(counting(3, open_runs=(waiting,)), NOW + 60_000)
    assert update.after.paused
    assert update.after.paused_until is None
    assert update.action == ScheduleAction(ActionKind.PAUSED, NOW + 60_000, None, "kron", "3 runs failed in a row")
    assert (update.new, update.changed, update.gap) == ((), (), None)


def test_note_of_a_single_failure_is_a_sentence():
    update = committed(counting(1, replace(POLICY, pause_on_failure=1)), NOW)
    assert update.action.note == "1 run failed"


def test_requested_run_starts_with_the_plan_that_pauses():
    request = a_run(minute=0, trigger="now", due=NOW)
    update = committed(counting(3, open_runs=(request,)), NOW + 60_000)
    assert update.action
    assert [run.state for _, run in update.changed] == [State.LAUNCHING]


@pytest.mark.parametrize("state", [counting(2), counting(3, paused=True), counting(9, deleted=True)])
def test_schedule_goes_on_or_is_not_paused_twice(state):
    update = committed(state, NOW)
    assert update.action is None
    assert update.after.paused is state.paused


def test_time_limit_counts_in_the_plan_that_finds_it():
    """The third failure is a timeout: the same plan that ends the run pauses the schedule."""
    late = a_run(State.STARTED, 1, lease=NOW + 10**9, ends_by=NOW + 70_000)
    state = counting(2, open_runs=(late,), cursor=late.nominal)
    update = committed(state, NOW + 120_000)
    ((_, end),) = update.changed
    assert (end.state, end.reason, update.after.failure_count, update.after.paused) == (
        State.FAILED,
        Reason.TIMEOUT,
        3,
        True,
    )
    assert update.new == ()


def test_launch_that_is_given_up_counts():
    policy = replace(POLICY, deadline=MINUTE)
    refused = a_run(State.RETRY, 1, reason=Reason.LAUNCH_FAILED, not_before=NOW + 200_000)
    update = committed(counting(2, policy, open_runs=(refused,), cursor=refused.nominal), NOW + 200_000)
    ((_, end),) = update.changed
    assert (end.state, end.reason) == (State.FAILED, Reason.LAUNCH_FAILED)
    assert (update.after.failure_count, bool(update.action)) == (3, True)


def test_retry_that_a_newer_period_replaces_counts():
    """Its execution has failed, and it ends as failed."""
    failed = a_run(State.WAITING, 1, reason=Reason.FAILED, not_before=NOW + 10**9)
    policy = replace(POLICY, overlap=Overlap.SKIP)
    update = committed(counting(0, policy, open_runs=(failed,), cursor=failed.nominal), NOW + 120_000)
    assert [run.state for run in (*(after for _, after in update.changed), *update.new)] == [
        State.FAILED,
        State.LAUNCHING,
    ]
    assert (update.after.failure_count, update.action) == (1, None)


def test_lost_run_does_not_count():
    silent = a_run(State.STARTED, 1, lease=NOW + 60_001)
    update = committed(counting(2, open_runs=(silent,), cursor=silent.nominal), NOW + 61_000)
    ((_, end),) = update.changed
    assert (end.state, update.after.failure_count, update.action) == (State.LOST, 2, None)


def test_run_of_an_older_revision_does_not_count_in_a_plan():
    late = a_run(State.STARTED, 1, lease=NOW + 10**9, ends_by=NOW + 70_000)
    state = counting(2, open_runs=(late,), cursor=late.nominal, revision=2)
    update = committed(state, NOW + 71_000)
    assert (update.after.failure_count, update.action) == (2, None)


def test_resume_and_new_revision_reset_the_count():
    resting = paused(counting(3), NOW, None, NO_ACTOR).after
    assert resting.failure_count == 3
    assert resumed(resting, NOW + 1, NO_ACTOR).after.failure_count == 0
    job = a_job(policy=replace(POLICY, timeout=SECOND))
    assert defined(job, counting(2), NOW, NO_ACTOR).after.failure_count == 0


def test_plan_of_a_state_with_another_count_is_rejected():
    """A request failed meanwhile, and left neither a cursor nor an open run behind."""
    state = counting(2)
    update = update_of(plan(state, NOW + 60_000, owner="w", lease=30_000))
    assert update.new
    assert not can_commit(update, state._replace(failure_count=3), ())
    assert not is_simple_insert(update)
