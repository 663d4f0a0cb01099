"""Fail points of the operator: each is passed, and stands in the documentation."""

import pytest

from kron.apps.operator.fail_points import OPERATOR_POINTS
from kron.engine import failpoint
from tests.docs.page import table
from tests.docs.test_guarantees import PAGE
from tests.operator.running import START, until
from tests.operator.test_end_to_end import name_of


def test_points_stand_in_the_documentation():
    assert {row[0]: row[1] for row in table(PAGE, "operator points")} == OPERATOR_POINTS
    assert not OPERATOR_POINTS.keys() & failpoint.POINTS.keys()


@pytest.mark.parametrize("point", OPERATOR_POINTS)
def test_point_is_passed(point, world, monkeypatch):
    passed = []
    monkeypatch.setattr(failpoint, "_requested", f"{point}:1:kill")
    monkeypatch.setattr(failpoint, "_fail", lambda: passed.append(point))
    world.kronjob(successfulJobsHistoryLimit=0)

    async def first(life):
        await life.defined()
        await life.pass_time(60)
        await until(lambda: world.jobs and world.status().get("lastOutcome"))

    async def second(life):
        world.server.end_job("shop", name_of(START + 60))
        await until(lambda: not world.jobs)

    world.run(first)
    assert bool(passed) == (point in ("K13", "K16"))
    for file in world.file.parent.glob("kron.db*"):
        file.unlink()  # so that the Job is adopted
    world.run(second)
    assert passed
