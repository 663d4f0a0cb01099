"""The checks can fail: every planted bug is found."""

import pytest

from kron.rules import edit, expiry
from tests.simulation.campaign import hunt
from tests.simulation.mutants import MUTANTS, _swap


@pytest.mark.parametrize(
    "stale",
    [
        _swap(expiry, "_lease_expired", lambda run: False),  # called by a worker
        _swap(edit, "_redefined", lambda job, case: None),  # called by a registrar
        pytest.param(_swap(expiry, "_lease_expired", lambda run, draft: run.no_such_field), marks=pytest.mark.campaign),
    ],
)
def test_hunt_does_not_count_a_crashing_mutant_as_found(monkeypatch, stale):
    monkeypatch.setitem(MUTANTS, "stale", stale)
    _, seed, found = hunt(("stale", 2))
    assert seed is None
    assert "itself crashes" in found


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_replaces_something_that_is_there(name):
    with MUTANTS[name]():
        pass


@pytest.mark.parametrize(
    "name",
    [
        *("timeout recorded as failure", "withdrawn run claimed again"),
        *("a success does not end the failures", "failures pause nothing"),
    ],
)
def test_hunt_finds_a_mutant_by_what_it_does(name):
    _, seed, found = hunt((name, 5))
    assert seed is not None, found


@pytest.mark.campaign
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_found(name):
    _, seed, found = hunt((name, 2_000))
    assert seed is not None, found
