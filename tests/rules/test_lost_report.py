"""Reports that a run is lost: a run that has started and of which nothing is left ends at once."""

from dataclasses import replace

import pytest

from kron.rules.attempt import AttemptResult, reported_attempt
from kron.rules.launch_result import LaunchResult, Report, answered, next_check_after, reported
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.schedule.policy import KRON, WorkerLossPolicy
from tests.stores.making import NOW, a_run


def accepted():
    return answered(a_run(State.LAUNCHING, attempt=1, due=NOW), LaunchResult.OK, KRON, NOW)


@pytest.mark.parametrize("started", [False, True])
def test_lost_report_ends_an_accepted_run_as_lost(started):
    run = reported(accepted(), Report.STARTED, KRON, NOW) if started else accepted()
    lost = reported(run, Report.LOST, KRON, NOW + 5)
    assert (lost.state, lost.outcome, lost.reason) == (State.LOST, Outcome.EXECUTED, Reason.SILENT)
    assert (lost.lease, lost.finished) == (None, NOW + 5)


def test_run_that_may_be_executed_again_is_launched_again():
    policy = replace(KRON, on_worker_loss=WorkerLossPolicy.RESTART)
    lost = reported(accepted(), Report.LOST, policy, NOW + 5)
    assert (lost.state, lost.lease, next_check_after(lost, policy, NOW + 5)) == (State.STARTED, NOW + 5, NOW + 5)


@pytest.mark.parametrize("state", [State.PENDING, State.LAUNCHING, State.RETRY, State.WAITING, State.SUCCESS])
def test_lost_report_does_not_count_for_a_run_that_is_not_accepted(state):
    """A launch in progress can still create what is missing."""
    assert reported(a_run(state, attempt=1, due=NOW), Report.LOST, KRON, NOW) is None


def test_lost_report_is_recorded_as_the_result_of_its_attempt():
    attempt = reported_attempt(accepted(), Report.LOST, NOW + 5, excerpt="the Job does not exist")
    assert (attempt.result, attempt.excerpt) == (AttemptResult.LOST, "the Job does not exist")
