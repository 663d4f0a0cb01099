"""Durations, against an oracle that adds up fractions."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kron.language.duration import read_duration, write_duration
from kron.language.fault import Fault
from tests.language import texts

NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 6 * 10**10,
    "h": 36 * 10**11,
}
LONGEST = 2**63 - 1


def slowly(text):
    """The nanoseconds of a duration, each part rounded down, as Go adds them up."""
    if text == "0":
        return 0
    parts = re.findall(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)", text)
    return sum(int((Fraction(int(a or 0)) + Fraction(int(b or 0), 10 ** len(b))) * NANOSECONDS[c]) for a, b, c in parts)


def code(text):
    with pytest.raises(Fault) as caught:
        read_duration(text)
    return caught.value.code


@settings(max_examples=500, deadline=None)
@example("0.1h")
@example("9223372036854775807ns")
@example("1.5h")
@given(texts.duration_texts())
def test_a_duration_is_the_sum_of_its_parts(text):
    assert read_duration(text) == slowly(text)
    assert read_duration(f"+{text}") == slowly(text)


@settings(deadline=None)
@given(st.integers(0, LONGEST))
def test_a_duration_written_and_read_is_the_same(nanoseconds):
    assert read_duration(write_duration(nanoseconds)) == nanoseconds


@settings(deadline=None)
@given(texts.duration_texts())
def test_its_text_is_canonical(text):
    written = write_duration(read_duration(text))
    assert write_duration(read_duration(written)) == written
    assert re.fullmatch(r"(\d+h)?(\d+m)?(\d+s)?(\d+ms)?(\d+us)?(\d+ns)?", written)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0s"), (1, "1ns"), (90 * 10**9, "1m30s"), (5400 * 10**9, "1h30m"), (1_500_000_000, "1s500ms")],
)
def test_a_duration_is_written_as(nanoseconds, text):
    assert write_duration(nanoseconds) == text


def test_the_longest_duration_is_that_of_go():
    assert read_duration(write_duration(LONGEST)) == LONGEST
    assert read_duration("2562047h47m16.854775807s") == LONGEST
    assert code("2562047h47m16.854775808s") == "DURATION_TOO_LONG"
    assert code("9" * 60_000 + "ns") == "DURATION_TOO_LONG"
    assert read_duration("0" * 60_000 + "5ns") == 5


def test_digits_beyond_the_twentieth_after_the_point_are_not_looked_at():
    assert read_duration("0." + "0" * 19 + "9h") == 0
    assert read_duration("1." + "3" * 60_000 + "s") == 1_333_333_333


def test_less_than_nothing_is_refused_and_less_than_a_nanosecond_is_nothing():
    assert code("-1ns") == "NEGATIVE_DURATION"
    assert code("-1h") == "NEGATIVE_DURATION"
    assert read_duration("-0") == read_duration("-0s") == read_duration("-0.1ns") == 0


BAD = """h 1 01 00 . .s 1d 1w 1H 1,5s 1e3s +-1s 1_0s \uff11s \u0661s 1\u017f 1.2.3s 0x1s inf nan 1h-5m 1hs s1 + -"""


@pytest.mark.parametrize("text", ["", "1 s", " 1s", "1s ", "1s\n", *BAD.split()])
def test_what_go_does_not_take_is_not_taken(text):
    assert code(text) == "BAD_DURATION"
