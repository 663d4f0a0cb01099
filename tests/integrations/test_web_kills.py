"""The short version of `make web-kills`."""

import pytest

from tests.integrations.web_kills import main


@pytest.mark.first
@pytest.mark.slow
def test_killed_web_processes_lose_no_period(capsys):
    assert main(minutes=0.6) == 0, capsys.readouterr().out
