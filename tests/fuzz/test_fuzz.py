"""The short version for every run: some thousand texts for each parser, put together of the grammar's own words."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS
from tests.fuzz.words import GOOD, WORDS, seeds


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("examples", [1_000, pytest.param(10_000, marks=pytest.mark.campaign)])
def test_any_text_is_read_or_refused_in_words(target, examples):
    words = st.sampled_from(WORDS[target])
    good = st.sampled_from(seeds(target))

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.one_of(st.lists(words, max_size=14).map("".join), st.builds(spliced, good, st.integers(0, 4096), words)))
    def check(text):
        TARGETS[target](text)

    check()


def spliced(text, at, word):
    """A text with a word put in, or put over what was there."""
    at %= len(text) + 1
    return text[:at] + word + text[at + (len(word) if at % 2 else 0) :]


@pytest.mark.parametrize("target", TARGETS)
def test_the_seeds_are_good(target):
    assert all(TARGETS[target](text) for text in GOOD[target])
