"""Overlap limit: how many runs of a schedule can be active at once under `allow`."""

from dataclasses import replace

import pytest

from kron.rules.outcome import Outcome, Reason
from kron.rules.plan import plan
from kron.rules.run import trigger_of
from kron.rules.run_state import State
from kron.timing.schedule.policy import KRON, Overlap
from tests.stores.making import NOW, a_case, a_job, a_run

POLICY = replace(KRON, overlap=Overlap.ALLOW, overlap_limit=2)


def planned(*open_runs, now, policy=POLICY):
    case = a_case(cursor=max(run.nominal for run in open_runs))._replace(job=a_job(policy=policy), open_runs=open_runs)
    return plan(case, now, owner="w", lease=30_000)


def going(minute):
    return a_run(State.STARTED, minute, lease=NOW + 10**9)


@pytest.mark.parametrize(("active", "state"), [(1, State.LAUNCHING), (2, State.SKIPPED), (3, State.SKIPPED)])
def test_due_period_above_the_limit_is_skipped(active, state):
    runs = [going(1 + n) for n in range(active)]
    (new,) = planned(*runs, now=(runs[-1].nominal + 60) * 1000).new
    assert new.state is state
    if state is State.SKIPPED:
        assert (new.outcome, new.reason) == (Outcome.SKIPPED, Reason.OVERLAP)


def test_periods_that_are_due_together_start_up_to_the_limit():
    policy = replace(POLICY, deadline=None)
    made = planned(going(1), now=(a_run(minute=4).nominal) * 1000, policy=policy)
    assert [run.state for run in made.new] == [State.LAUNCHING, State.SKIPPED, State.SKIPPED]


def test_requested_run_above_the_limit_is_skipped_and_a_backfill_is_not():
    requested, backfilled = (
        a_run(minute=2, trigger=name, due=NOW) for name in ("now", trigger_of("backfill", "x", Overlap.ALLOW))
    )
    made = planned(going(1), going(2), requested, backfilled, now=NOW + 120_001)
    assert {after.trigger: after.state for _, after in made.changed} == {
        "now": State.SKIPPED,
        backfilled.trigger: State.LAUNCHING,
    }


@pytest.mark.parametrize(("active", "starts"), [(1, True), (2, False)])
def test_retry_waits_while_as_many_runs_are_active(active, starts):
    failed = a_run(State.WAITING, 9, not_before=NOW)
    made = planned(failed, *(going(1 + n) for n in range(active)), now=NOW + 540_000)
    assert [after.state for _, after in made.changed] == ([State.LAUNCHING] if starts else [])
