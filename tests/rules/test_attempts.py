"""Attempts at their limits: leases that end, answers that are in doubt, reports that come too early."""

from dataclasses import replace

import pytest

from kron.rules.launch_result import LaunchResult, Report, answered, reported
from kron.rules.outcome import Outcome, Reason
from kron.rules.plan import plan
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate, is_simple_insert
from kron.timing.schedule.policy import KRON, SECOND, SERVICE, Overlap, WorkerLossPolicy
from tests.stores.making import NOW, a_case, a_job, a_run

REDELIVER = replace(KRON, on_worker_loss=WorkerLossPolicy.REDELIVER, deadline=60 * SECOND)


def planned(run, policy, now=NOW):
    """The open run as a plan leaves it; no period is due."""
    case = a_case(cursor=run.nominal)._replace(job=a_job(policy=policy), open_runs=(run,))
    return {before.key: after for before, after in plan(case, now, owner="w2", lease=30_000).changed}.get(run.key)


@pytest.mark.parametrize("state", [State.LAUNCHING, State.ENQUEUED, State.STARTED])
def test_lease_holds_until_its_last_millisecond_and_no_longer(state):
    assert planned(a_run(state, lease=NOW + 1), KRON) is None
    assert planned(a_run(state, lease=NOW), KRON) is not None


def test_claim_without_an_answer_is_sent_again_in_doubt():
    again = planned(a_run(State.LAUNCHING, lease=NOW), REDELIVER)
    assert (again.state, again.attempt, again.owner, again.maybe_delivered) == (State.LAUNCHING, 2, "w2", True)


@pytest.mark.parametrize(
    ("doubt", "end"),
    [
        (False, (State.FAILED, Outcome.MISSED, Reason.LAUNCH_FAILED)),
        (True, (State.UNKNOWN, Outcome.EXECUTED, Reason.UNKNOWN)),
    ],
)
def test_refused_run_that_may_have_arrived_before_is_unknown(doubt, end):
    run = answered(a_run(State.LAUNCHING, maybe_delivered=doubt), LaunchResult.REJECTED, REDELIVER, NOW)
    assert (run.state, run.outcome, run.reason) == end


def test_answer_that_is_unknown_leaves_doubt():
    run = answered(a_run(State.LAUNCHING), LaunchResult.UNKNOWN, REDELIVER, NOW)
    assert (run.state, run.maybe_delivered) == (State.RETRY, True)
    assert answered(a_run(State.LAUNCHING), LaunchResult.RETRYABLE, REDELIVER, NOW).maybe_delivered is False


@pytest.mark.parametrize(("late", "sent"), [(60_000, True), (60_001, False)])
def test_next_attempt_after_the_deadline_is_not_made(late, sent):
    run = a_run(State.RETRY, due=NOW - late, not_before=NOW)
    after = planned(run, REDELIVER)
    assert (after.state is State.LAUNCHING) is sent
    assert sent or after.outcome is Outcome.MISSED


@pytest.mark.parametrize(("patience", "waits"), [(60_000, True), (60_001, False)])
def test_patience_beyond_the_deadline_ends_the_run(patience, waits):
    run = answered(a_run(State.LAUNCHING, due=NOW), LaunchResult.RETRYABLE, REDELIVER, NOW, patience)
    assert (run.state is State.RETRY) is waits
    assert not waits or run.not_before == NOW + patience


@pytest.mark.parametrize("state", [State.LAUNCHING, State.RETRY])
def test_started_before_the_answer_does_not_count(state):
    """The answer to the launch is still to come, and its write would be refused."""
    assert reported(a_run(state), Report.STARTED, KRON, NOW) is None
    assert reported(a_run(state), Report.SUCCESS, KRON, NOW).state is State.SUCCESS


@pytest.mark.parametrize("state", [State.LAUNCHING, State.RETRY])
def test_replace_waits_for_a_run_that_may_have_been_sent(state):
    other = a_run(state, maybe_delivered=True, lease=NOW + 600_000, not_before=NOW + 600_000)
    job = a_job(policy=replace(KRON, overlap=Overlap.REPLACE))
    made = plan(a_case(cursor=other.nominal)._replace(job=job, open_runs=(other,)), NOW + 120_000, owner="w", lease=1)
    assert (made.changed, made.cancels) == ((), ())
    assert [run.state for run in made.new] == [State.PENDING]


@pytest.mark.parametrize(("waiting", "kept"), [(1, True), (2, False)])
def test_queue_holds_as_many_as_its_bound(waiting, kept):
    going = a_run(State.STARTED, minute=1, lease=NOW + 600_000)
    queue = tuple(a_run(minute=2 + n) for n in range(waiting))
    job = a_job(policy=replace(KRON, overlap=Overlap.QUEUE, queue_limit=2))
    last = (going, *queue)[-1].nominal
    case = a_case(cursor=last)._replace(job=job, open_runs=(going, *queue))
    (new,) = plan(case, (last + 60) * 1000, owner="w", lease=1).new
    assert (new.state, new.reason) == ((State.PENDING, None) if kept else (State.SKIPPED, Reason.QUEUE_OVERFLOW))


@pytest.mark.parametrize("idle", ["paused", "deleted"])
def test_short_way_is_not_for_a_schedule_that_rests(idle):
    """It compares less: that a schedule is neither paused nor deleted is taken for granted there."""
    case = a_case()
    resting = case._replace(**{idle: True})
    assert is_simple_insert(ScheduleUpdate(case, case._replace(next_check_at=NOW + 1)))
    assert not is_simple_insert(ScheduleUpdate(resting, resting._replace(next_check_at=NOW + 1)))
    assert not is_simple_insert(ScheduleUpdate(case, resting))


def test_many_attempts_do_not_make_an_unknown_answer_a_refusal():
    run = answered(a_run(State.LAUNCHING, attempt=100), LaunchResult.UNKNOWN, REDELIVER, NOW)
    assert run.outcome is not Outcome.MISSED


def test_deadline_alone_ends_the_attempts_with_at_most_a_minute_between_two():
    """Retries of a refused launch go on for 3 hours, far longer than a launch without a deadline is tried for."""
    policy, run, now = replace(KRON, deadline=3 * 3_600 * SECOND), a_run(State.LAUNCHING, due=NOW), NOW
    waits = []
    while (run := answered(run, LaunchResult.RETRYABLE, policy, now)).state is State.RETRY:
        waits.append(run.not_before - now)
        now, run = run.not_before, run._replace(state=State.LAUNCHING, attempt=run.attempt + 1)
    assert (run.outcome, run.reason) == (Outcome.MISSED, Reason.LAUNCH_FAILED)
    assert max(waits) <= 60_000
    assert 3 * 3_600_000 - 500 <= now - NOW <= 3 * 3_600_000
    assert policy.launch_for < policy.deadline


LONG_AGO = NOW - 3_600_000  # longer than a launch is tried for


def test_withheld_attempt_counts_neither_for_the_wait_nor_for_giving_up():
    """Only what may have been sent is a try: what Kron itself had no time for uses nothing up."""
    run = a_run(State.LAUNCHING, attempt=40, unsent=38, due=LONG_AGO, created=LONG_AGO)
    policy = replace(SERVICE, launch_backoff=SECOND)
    assert (run.tries, answered(run, LaunchResult.UNSENT, policy, NOW).unsent) == (2, 39)
    again = answered(run, LaunchResult.RETRYABLE, policy, NOW)
    assert (again.state, again.unsent) == (State.RETRY, 38)
    assert again.not_before - NOW <= 2_000  # as after the second attempt, not as after the fortieth
    assert answered(run._replace(unsent=0), LaunchResult.RETRYABLE, policy, NOW).state is State.FAILED


@pytest.mark.parametrize("why", [{"maybe_delivered": True}, {"reason": Reason.LAUNCH_FAILED}])
def test_attempt_that_was_promised_is_made_however_late_kron_comes_to_it(why):
    run = a_run(State.RETRY, attempt=40, due=LONG_AGO, created=LONG_AGO, not_before=NOW, **why)
    assert planned(run, SERVICE).state is State.LAUNCHING


@pytest.mark.parametrize(("unsent", "state"), [(0, State.UNKNOWN), (38, State.LAUNCHING)])
def test_run_whose_workers_fall_silent_again_and_again_is_given_up(unsent, state):
    run = a_run(State.LAUNCHING, attempt=40, unsent=unsent, due=LONG_AGO, created=LONG_AGO, lease=NOW)
    assert planned(run, SERVICE).state is state


@pytest.mark.parametrize(("sent", "wakes"), [(NOW, NOW + 1_000), (NOW + 1, NOW + 20_000)])
def test_run_that_is_to_replace_one_sent_before_the_edit_asks_again_soon(sent, wakes):
    """Who answers goes by the definition of the claim, in which nothing was to be replaced: it wakes nobody."""
    job = a_job(policy=replace(KRON, overlap=Overlap.REPLACE))
    first = a_run(State.LAUNCHING, lease=NOW + 20_000, sent=sent)
    waiting = a_run(minute=1, trigger="asked", due=NOW)
    case = a_case(cursor=waiting.nominal)._replace(job=job, effective_from=NOW, open_runs=(first, waiting))
    assert plan(case, NOW + 1, owner="w2", lease=30_000).next_check_at in (wakes, wakes + 1)
