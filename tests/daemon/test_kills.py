"""A short run of the campaign that `make krond-kills` runs at length."""

import pytest

from tests.campaigns.krond_kills import main


@pytest.mark.first
@pytest.mark.slow
@pytest.mark.req("KSPEC-IDEM-DAEMON")
def test_five_kills_lose_and_double_no_command(capsys):
    assert main(["--kills", "5", "--jobs", "16"]) == 0, capsys.readouterr().out
    assert "0 problems" in capsys.readouterr().out.splitlines()[-1]
