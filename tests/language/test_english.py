"""English: sentences read by a person before they were written down, and laws that hold for all of them.

`tests/golden/english.txt` holds the dialect and the text on one line and the sentence below it. To let the
code write what it says now, and to review it as a diff:

    python -m tests.language.test_english && git diff tests/golden
"""

from collections import defaultdict
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import describe, parse, periods
from kron.language.english import english_policy, spell
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.policy import KRON, SERVICE, Overlap, Policy
from kron.timing.zone import instant_of, moment

GOLDEN = Path(__file__).parents[1] / "golden" / "english.txt"
CASES = [tuple(block.split("\n")) for block in GOLDEN.read_text(encoding="utf-8").removesuffix("\n").split("\n\n")]


def said(head):
    dialect, _, text = head.partition(": ")
    return describe(parse(text, dialect=dialect))


@pytest.mark.parametrize(("head", "sentence"), CASES, ids=lambda case: case)
def test_a_golden_sentence(head, sentence):
    assert said(head) == sentence


def bits(size):
    return st.integers(1, (1 << size) - 1) | st.integers(0, size - 1).map(lambda bit: 1 << bit)


CRONS = st.builds(
    Cron,
    bits(60),
    bits(24),
    bits(31),
    bits(12),
    bits(7),
    st.booleans(),
    st.booleans(),
    st.just(1) | bits(60),
)


@settings(deadline=None)
@given(CRONS)
def test_any_cron_has_a_sentence(cron):
    sentence = describe(Schedule(cron))
    assert sentence[0].isupper()
    assert sentence.endswith(", UTC.")
    assert "  " not in sentence
    assert ",," not in sentence
    assert "None" not in sentence


def test_two_schedules_with_one_sentence_run_at_the_same_times():
    """Nothing is left out: of 16,000 schedules those that read alike are alike."""
    minutes = ["*", "0", "5", "*/5", "*/7", "1,2", "0-5", "5-59/10", "10,30", "0,30"]
    hours = ["*", "0", "9", "*/2", "1-23/2", "*/5", "9-17", "8-10,14", "0,12", "1,3,5,9-11,20", "*/8"]
    days = ["*", "1", "31", "1,15", "*/2", "*/5", "1-31", "10-20"]
    months = ["*", "6-8", "1-3,5"]
    weekdays = ["*", "0", "1-5", "0,6", "*/2", "0-6"]
    read = defaultdict(set)
    for fields in product(minutes, hours, days, months, weekdays):
        schedule = parse(" ".join(fields), dialect="kron")
        read[describe(schedule)].add(schedule)
    assert len(read) > 12_000
    start = moment(instant_of("2026-01-01T00:00:00Z"))
    for alike in read.values():
        assert len({tuple(islice(periods(schedule, start), 50)) for schedule in alike}) == 1


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (0, "no time"),
        (1, "1 nanosecond"),
        (1_500_000_000, "1 second and 500 milliseconds"),
        (3_600_000_000_000, "1 hour"),
        (5_400_000_000_000, "1 hour and 30 minutes"),
        (86_400_000_000_000, "24 hours"),
        (3_661_001_001_001, "1 hour, 1 minute, 1 second, 1 millisecond, 1 microsecond and 1 nanosecond"),
    ],
)
def test_durations_in_words(nanoseconds, words):
    assert spell(nanoseconds) == words


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (Policy(), "Starts in its chosen second or not at all; is skipped while the previous run is active."),
        (
            Policy(Overlap.ALLOW, 600_000_000_000),
            "Starts up to 10 minutes late; runs even while the previous run is active.",
        ),
        (
            Policy(Overlap.REPLACE, 0, suspend=True),
            "Starts in its chosen second or not at all; cancels the previous run if that is still active."
            " Suspended: nothing runs.",
        ),
        (SERVICE, "Has no deadline; is skipped while the previous run is active."),
        (replace(KRON, deadline=None), "Has no deadline; is skipped while the previous run is active."),
    ],
)
def test_policies_in_words(policy, sentence):
    assert english_policy(policy) == sentence


if __name__ == "__main__":
    GOLDEN.write_text("\n\n".join(f"{case[0]}\n{said(case[0])}" for case in CASES) + "\n", encoding="utf-8")
