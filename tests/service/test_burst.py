"""Many more schedules due in one second than workers launch at once: each arrives once, under its key."""

from argparse import Namespace

import pytest

from tests.campaigns import one_off
from tests.campaigns.burst import burst


@pytest.mark.slow
def test_burst_under_defaults_misses_nothing(server, tmp_path):
    """A small part of `make burst`."""
    result = burst(server, tmp_path, 2_000, minutes=1)
    assert not +result.wrong, +result.wrong
    assert len(result.lateness) == 2_000


@pytest.mark.slow
def test_one_off_jobs_with_payloads_run_once(server, tmp_path, monkeypatch):
    """A small part of `make one-off`."""
    monkeypatch.setattr(one_off, "PROBE_JOBS", 200)
    assert one_off.campaign(server, tmp_path, Namespace(jobs=500, minutes=0.2))
