"""Periods of random texts of the plus dialect, forwards, backwards and counted, are those of the oracle."""

from random import Random

import pytest
from benchmarks import campaign, plus_campaign

from kron.timing.zone import instant_of, zone, zone_names
from tests.seeds import seeds

DAY = 86_400


@pytest.mark.parametrize("seed", seeds(5, in_gate=2))
def test_periods_of_the_campaign_are_those_of_the_oracle(seed):
    for case in plus_campaign.cases(seed, 1_000):
        assert plus_campaign.difference(case) == "", plus_campaign.smaller(case)


@pytest.mark.parametrize("part", range(6))
def test_periods_in_every_zone_are_those_of_the_oracle(part):
    rng = Random(part)
    for name in sorted(zone_names())[part::6]:
        year = rng.randint(1971, 2100)
        begin, end = (instant_of(f"{one}-01-01T00:00:00Z") for one in (year, year + 1))
        changes = [shift.at for shift in zone(name).shifts(begin, end)]
        middle = rng.choice(changes or [rng.randrange(begin, end)])
        stretch = campaign.Stretch(name, middle - DAY, middle + DAY, seconds=False)
        for _ in range(2):
            at = middle + rng.randrange(-4 * 3600, 4 * 3600)
            text = plus_campaign.random_text(rng, stretch, at)
            case = campaign.Case(text, "plus", stretch, at)
            assert plus_campaign.difference(case) == "", plus_campaign.smaller(case)
