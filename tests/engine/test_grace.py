"""Grace: a period that fell due in a downtime runs all the same, if a worker is back soon."""

from dataclasses import replace

import pytest

from kron import parse
from kron.core.downtime import Downtime
from kron.core.job import Job
from kron.core.outcome import Reason
from kron.core.plan import plan, plan_at_length
from kron.core.policy import SERVICE
from kron.edit import created
from kron.registrar import NOBODY

DUE = 1_772_366_400_000  # 2026-03-01T12:00:00Z


@pytest.mark.parametrize("how", [plan, plan_at_length])
@pytest.mark.parametrize(("back", "reason"), [(50, None), (70, Reason.CATCHUP_NONE)])
def test_grace_counts_until_a_worker_is_back_and_not_until_it_comes_to_the_period(how, back, reason):
    """A worker that is back in time, and has too much to do, makes no period missed."""
    job = Job("job", replace(parse("0 12 * * *", dialect="service"), policy=SERVICE), target="test:it")
    case = created(job, None, DUE - 600_000, NOBODY).after._replace(downtime=Downtime(0, DUE + back * 1000))
    made = how(case, DUE + 300_000, owner="w", lease=30_000)
    (run,) = made.new
    assert run.reason is reason
    assert len(made.launches) == (reason is None)
