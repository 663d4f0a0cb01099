"""Many more schedules due in one second than workers launch at once: each arrives once, under its key."""

import pytest

from tests.campaigns.burst import burst


@pytest.mark.slow
def test_burst_under_defaults_misses_nothing(server, tmp_path):
    """A small part of `make burst`."""
    result = burst(server, tmp_path, 2_000, minutes=1)
    assert not +result.wrong, +result.wrong
    assert len(result.lateness) == 2_000
