"""The checks can fail: every planted bug is found."""

import pytest

from tests.simulation.campaign import hunt
from tests.simulation.mutants import MUTANTS


@pytest.mark.campaign
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_found(name):
    _, seed, found = hunt((name, 2_000))
    assert seed is not None, found
