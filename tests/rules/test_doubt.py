"""Doubt whether an attempt arrived: it is about the execution in progress, and ends with what is known of it."""

from dataclasses import replace

import pytest

from kron.rules.edit import withdrawn
from kron.rules.launch_result import LaunchResult, Report, answered, reported
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.schedule.policy import KRON, SECOND, Completion, WorkerLossPolicy
from tests.rules.test_attempts import planned
from tests.stores.making import NOW, a_run

RETRIED = replace(
    KRON,
    completion=Completion.REPORTED,
    on_worker_loss=WorkerLossPolicy.REDELIVER,
    retry_after=5 * SECOND,
    launch_attempts=3,
)
RESTARTED = replace(RETRIED, on_worker_loss=WorkerLossPolicy.RESTART)


def failed_once(policy=RETRIED):
    """Return a run that was executed and failed, and whose retry was claimed."""
    accepted = answered(a_run(State.LAUNCHING, attempt=1, due=NOW), LaunchResult.OK, policy, NOW)
    waiting = reported(accepted, Report.FAILED, policy, NOW)
    assert (waiting.state, waiting.failures) == (State.WAITING, 1)
    return planned(waiting._replace(not_before=NOW), policy)


def test_retry_that_may_have_arrived_is_unknown_when_its_launches_end():
    """The target may be executing it, so that the next period must not be told that it failed to start."""
    claim = failed_once()
    lost = planned(claim._replace(lease=NOW), RETRIED)  # its worker died after it had sent the run
    assert (lost.state, lost.attempt, lost.maybe_delivered) == (State.LAUNCHING, 3, True)
    for result in (LaunchResult.REJECTED, LaunchResult.RETRYABLE):
        last = answered(lost._replace(attempt=4), result, RETRIED, NOW)
        assert (last.state, last.outcome, last.reason) == (State.UNKNOWN, Outcome.EXECUTED, Reason.UNKNOWN)


def test_retry_that_was_certainly_refused_has_failed_to_launch():
    last = answered(failed_once(), LaunchResult.REJECTED, RETRIED, NOW)
    assert (last.state, last.outcome, last.reason) == (State.FAILED, Outcome.EXECUTED, Reason.LAUNCH_FAILED)


@pytest.mark.parametrize("report", [None, Report.FAILED])
def test_doubt_ends_when_the_target_answers(report):
    """What was in doubt of one execution says nothing about the next one."""
    doubtful = a_run(State.LAUNCHING, attempt=2, due=NOW, maybe_delivered=True)
    accepted = answered(doubtful, LaunchResult.OK, RETRIED, NOW)
    told = accepted if report is None else reported(doubtful, report, RETRIED, NOW)
    assert told.maybe_delivered is False


def test_silent_run_whose_restart_is_refused_is_unknown():
    accepted = answered(a_run(State.LAUNCHING, attempt=1, due=NOW), LaunchResult.OK, RESTARTED, NOW)
    again = planned(accepted._replace(lease=NOW), RESTARTED)
    assert (again.state, again.maybe_delivered) == (State.LAUNCHING, True)
    last = answered(again, LaunchResult.REJECTED, RESTARTED, NOW)
    assert (last.state, last.reason) == (State.UNKNOWN, Reason.UNKNOWN)


@pytest.mark.parametrize(
    ("doubt", "tries_since", "end"),
    [
        (False, 1, (State.FAILED, Reason.FAILED)),  # its retry was refused: it ends as its last execution did
        (True, 0, (State.LOST, Reason.SILENT)),  # its target never reported, and was sent nothing since
        (True, 1, (State.UNKNOWN, Reason.UNKNOWN)),  # its retry may have arrived
    ],
)
def test_executed_run_of_a_deleted_schedule_ends_as_is_known_of_it(doubt, tries_since, end):
    run = a_run(
        State.RETRY,
        attempt=2,
        outcome=Outcome.EXECUTED,
        reason=Reason.FAILED,
        launched=2 - tries_since,
        maybe_delivered=doubt,
    )
    after = withdrawn(run, NOW)
    assert (after.state, after.reason, after.outcome) == (*end, Outcome.EXECUTED)
