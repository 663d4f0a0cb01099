"""Grace: a period that fell due in a downtime runs all the same, if a worker is back soon."""

from dataclasses import replace

import pytest

from kron import parse
from kron.engine.registrar import NO_ACTOR
from kron.rules.downtime import Downtime
from kron.rules.edit import created
from kron.rules.outcome import Reason
from kron.rules.plan import plan, plan_full
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE

DUE = 1_772_366_400_000  # 2026-03-01T12:00:00Z


@pytest.mark.parametrize("how", [plan, plan_full])
@pytest.mark.parametrize(("back", "reason"), [(50, None), (70, Reason.CATCHUP_NONE)])
def test_grace_counts_until_a_worker_is_back_and_not_until_it_comes_to_the_period(how, back, reason):
    """A worker that is back in time, and has too much to do, makes no period missed."""
    job = Job("job", replace(parse("0 12 * * *", dialect="service"), policy=SERVICE), target="test:it")
    case = created(job, None, DUE - 600_000, NO_ACTOR).after._replace(downtime=Downtime(0, DUE + back * 1000))
    made = how(case, DUE + 300_000, owner="w", lease=30_000)
    (run,) = made.new
    assert run.reason is reason
    assert len(made.launches) == (reason is None)
