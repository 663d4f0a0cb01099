"""Time limits: one rule for all searches, and it is known afterwards whether a search was cut."""

from kron.apps.compute import time_limit
from kron.apps.service.routes import overview
from tests.service.http import serving
from tests.service.test_bounds import definition


class Hand:
    """A clock that a test moves."""

    def __init__(self):
        self.at = 100.0

    def __call__(self):
        return self.at


def test_limit_is_reached_only_if_a_search_was_told_so():
    clock = Hand()
    limit = time_limit(2.0, clock)
    assert not limit()
    clock.at = 102.0
    assert not limit()
    clock.at = 103.0
    assert not limit.reached, "the search ended before"
    assert limit()
    clock.at = 100.0
    assert (limit(), limit.reached) == (True, True)


def test_next_runs_that_take_too_long_are_not_complete(monkeypatch):
    with serving() as service:
        service.put("/v1/schedules/a", definition(timezone="UTC"))
        assert service.get("/v1/next").json["complete"] is True
        monkeypatch.setattr(overview, "SEARCH_SECONDS", -1.0)
        assert service.get("/v1/next").json["complete"] is False
