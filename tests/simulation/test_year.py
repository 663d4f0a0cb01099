"""A year in seconds, and the same ledger on every machine and Python."""

from tests.simulation.year import PARTS, cell

DIGEST = "13e4542d6baf74d8a9efe6a17b45c9aa"  # of twenty daily schedules in thirty days


def test_a_year_has_the_same_ledger_everywhere():
    total, ended = 0, 0
    for part in range(PARTS):
        one, count = cell((part, 20, 30))
        total, ended = total ^ one, ended + count
    assert ended > 20 * 29
    assert f"{total:032x}" == DIGEST
