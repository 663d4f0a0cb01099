"""kill -9 of a real process in the middle of its callbacks; `make embedded-kills` does it a hundred times."""

import pytest

from tests.embedded import kills, together


@pytest.mark.slow
@pytest.mark.req("DECL-PERS-ORPHANED", "DECL-IDEM-RECOVER", "DECL-RT-R2")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_five_kills_lose_nothing_and_double_nothing(kind, capsys):
    failed = kills.main(5, kind)
    said = capsys.readouterr().out
    assert not failed, said
    assert "R1, " in said
    assert "R2, " in said


@pytest.mark.slow
def test_four_processes_share_a_database_while_they_are_killed(capsys):
    assert together.main(10, 1) == 0, capsys.readouterr().out
