"""kill -9 of a real process in the middle of its callbacks; `make embedded-kills` does it a hundred times."""

import pytest

from tests.embedded import kills


@pytest.mark.slow
@pytest.mark.req("DECL-PERS-ORPHANED", "DECL-IDEM-RECOVER", "DECL-RT-R2")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_five_kills_lose_nothing_and_double_nothing(kind, capsys):
    assert kills.main(5, kind) == 0, capsys.readouterr().out
