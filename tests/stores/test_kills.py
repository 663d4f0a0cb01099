"""A short run of the campaign that `make crash-sqlite` runs at length."""

import pytest

from tests.campaigns.sqlite_kills import main


@pytest.mark.slow
@pytest.mark.req("SVC-GOAL-ONCE", "SVC-RESTART", "DECL-IDEM-RECOVER", "KSPEC-IDEM-RECORDED", "KSPEC-IDEM-CHECK")
def test_ten_kills_lose_and_double_nothing(capsys):
    assert main(["--kills", "10"]) == 0
    assert "0 lost, 0 doubled, 0 unexplained" in capsys.readouterr().out.splitlines()[-1]
