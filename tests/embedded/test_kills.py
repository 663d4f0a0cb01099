"""kill -9 of a real process in the middle of its callbacks; `make embedded-kills` does it a hundred times."""

import pytest

from tests.embedded import kills


@pytest.mark.slow
@pytest.mark.req("DECL-PERS-ORPHANED", "DECL-IDEM-RECOVER", "DECL-RT-R2")
def test_five_kills_lose_nothing_and_double_nothing(capsys):
    assert kills.main(5) == 0, capsys.readouterr().out
