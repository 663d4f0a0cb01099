"""Time limits of runs: when a run times out, and what follows."""

from dataclasses import replace

import pytest

from kron.rules.launch_result import LaunchResult, Report, answered, next_check_after, reported
from kron.rules.outcome import Outcome, Reason
from kron.rules.plan import plan
from kron.rules.run import claimed
from kron.rules.run_state import State
from kron.timing.schedule.policy import DECLARATIVE, KRON, SECOND, SERVICE
from tests.stores.making import NOW, a_case, a_job, a_run

TIMED = replace(KRON, timeout=10 * SECOND)


def accepted(policy=TIMED, now=NOW):
    return answered(claimed(a_run(), "w1", now + 30_000, now), LaunchResult.OK, policy, now)


def plan_of(run, policy, now):
    case = a_case(cursor=run.nominal + 3_600)._replace(job=a_job(policy=policy), open_runs=(run,))
    return plan(case, now, owner="w2", lease=30_000)


def test_time_limit_counts_from_the_acceptance():
    run = accepted(now=NOW + 777)
    assert run.ends_by == NOW + 777 + 10_000
    assert next_check_after(run, TIMED, NOW) == run.ends_by
    assert accepted(KRON).ends_by is None


@pytest.mark.parametrize("state", [State.ENQUEUED, State.STARTED])
def test_run_times_out_at_its_limit_and_is_canceled_at_its_target(state):
    run = accepted()._replace(state=state)
    early = plan_of(run, TIMED, run.ends_by - 1)
    assert (early.changed, early.next_check_at) == ((), run.ends_by)
    late = plan_of(run, TIMED, run.ends_by)
    ((before, after),) = late.changed
    assert (after.state, after.outcome, after.reason) == (State.FAILED, Outcome.EXECUTED, Reason.TIMEOUT)
    assert (before, late.cancels) == (run, (run,))


def test_heartbeat_does_not_move_the_limit():
    run = reported(accepted(), Report.STARTED, TIMED, NOW + 9_000)
    assert run.ends_by == NOW + 10_000
    assert next_check_after(run, TIMED, NOW + 9_000) == NOW + 10_000


def test_run_that_fell_silent_before_its_limit_is_lost():
    policy = replace(TIMED, run_lease=5 * SECOND)
    ((_, after),) = plan_of(accepted(policy), policy, NOW + 60_000).changed
    assert (after.state, after.reason) == (State.LOST, Reason.SILENT)


def test_run_that_timed_out_is_retried_with_a_new_limit():
    policy = replace(TIMED, retry_after=3 * SECOND, retry_attempts=1)
    run = accepted(policy)
    ((_, waiting),) = plan_of(run, policy, run.ends_by).changed
    assert (waiting.state, waiting.reason, waiting.not_before) == (State.WAITING, Reason.TIMEOUT, run.ends_by + 3_000)
    ((_, again),) = plan_of(waiting, policy, waiting.not_before).changed
    assert (again.state, again.ends_by) == (State.LAUNCHING, None)
    second = answered(again, LaunchResult.OK, policy, waiting.not_before + 50)
    assert second.ends_by == waiting.not_before + 50 + 10_000
    ((_, end),) = plan_of(second, policy, second.ends_by).changed
    assert (end.state, end.reason, end.failures) == (State.FAILED, Reason.TIMEOUT, 2)


@pytest.mark.parametrize("report", list(Report))
def test_later_report_of_an_attempt_that_timed_out_changes_nothing(report):
    policy = replace(TIMED, retry_after=0, run_lease=3_600 * SECOND)
    run = accepted(policy)
    ((_, again),) = plan_of(run, policy, run.ends_by).changed  # retried in the same pass
    assert (again.state, again.attempt) == (State.LAUNCHING, 2)
    second = answered(again, LaunchResult.OK, policy, run.ends_by)
    assert reported(second, report, policy, run.ends_by + 1, attempt=1) is None
    assert reported(second, Report.SUCCESS, policy, run.ends_by + 1, attempt=2).state is State.SUCCESS


def test_run_that_ends_with_its_acceptance_has_no_limit():
    assert accepted(replace(SERVICE, timeout=SECOND)).ends_by is None


def test_restarted_run_has_no_limit_until_it_is_accepted_again():
    policy = replace(DECLARATIVE, timeout=3_600 * SECOND, run_lease=5 * SECOND)
    ((_, again),) = plan_of(accepted(policy), policy, NOW + 5_000).changed
    assert (again.state, again.failures, again.ends_by) == (State.LAUNCHING, 0, None)
