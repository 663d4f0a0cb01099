"""What an error shows, and that it survives being sent to another process."""

import pickle
from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.errors import KronError, LanguageError, Place, clip, did_you_mean, nearest, report
from kron.language import parse


def caught(text, dialect="posix"):
    with pytest.raises(LanguageError) as info:
        parse(text, dialect=dialect)
    return info.value


def test_an_error_has_a_code_a_span_a_reason_and_what_would_do():
    error = caught("0 24 * * *")
    assert error.code == "OUT_OF_RANGE"
    assert error.span == (2, 4)
    assert error.message == "hour field value 24 is out of range (0-23)"
    assert error.hint == "use a value from 0 to 23"
    assert str(error) == (
        "error[OUT_OF_RANGE]: hour field value 24 is out of range (0-23)\n"
        "  0 24 * * *\n"
        "    ^^\n"
        "  hint: use a value from 0 to 23"
    )


def test_an_error_without_a_place_shows_all_that_it_has():
    assert str(KronError("CODE", "it is wrong", hint="do this")) == "error[CODE]: it is wrong\n  hint: do this"
    assert str(KronError("CODE", "it is wrong")) == "error[CODE]: it is wrong"


@pytest.mark.parametrize("make", [lambda error: pickle.loads(pickle.dumps(error)), copy], ids=["pickle", "copy"])
def test_an_error_survives_the_way_to_another_process(make):
    for error in (caught("0 24 * * *"), KronError("CODE", "it is wrong", hint="do this", details={"a": 1})):
        again = make(error)
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_a_place_in_a_file_is_labelled_as_editors_like_it():
    assert Place("abc", 1, 2, "/etc/krontab", 7).label == "/etc/krontab:7:2"
    assert Place("abc", 1, 2, "timezone").label == "timezone"
    assert Place("abc", 1, 2).label == ""
    assert report("C", "m", Place("abc", 1, 2, "f", 7), level="note") == "f:7:2: note[C]: m\n  abc\n   ^"


@pytest.mark.parametrize(
    ("text", "start", "end", "picture"),
    [
        ("abc", 1, 2, "  abc\n   ^"),
        ("abc", 3, 4, "  abc\n     ^"),
        ("abc", 1, 1, "  abc\n   ^"),
        ("a\tb", 2, 3, "  a\tb\n   \t^"),
        ("日本x", 2, 3, "  日本x\n      ^"),
        ("日本x", 0, 2, "  日本x\n  ^^^^"),
        ("e\u0301x", 2, 3, "  e\u0301x\n   ^"),
        ("a\nb\x1bc\ud800", 4, 5, "  a\ufffdb\ufffdc\ufffd\n      ^"),
    ],
)
def test_the_caret_stands_under_the_place(text, start, end, picture):
    assert Place(text, start, end).excerpt() == picture


@given(st.text(st.characters(), max_size=400), st.integers(0, 400), st.integers(0, 400))
def test_a_picture_is_two_lines_of_bearable_length_that_can_be_printed(text, start, length):
    start = min(start, len(text))
    lines = Place(text, start, start + length).excerpt().split("\n")
    assert len(lines) == 2
    assert len(lines[0]) <= 104
    assert "^" in lines[1]
    assert "".join(lines).replace("\t", "").isprintable()
    "".join(lines).encode()


@pytest.mark.parametrize(
    ("word", "close"),
    [("win", "win"), ("wim", "win"), ("wn", "win"), ("wiin", "win"), ("iwn", "win"), ("WIN", "win"), ("wxyz", "")],
)
def test_the_nearest_word_is_one_edit_away(word, close):
    assert nearest(word, ["tz", "win", "dist"]) == close


@given(st.text("ab", max_size=7), st.text("ab", min_size=1, max_size=7))
def test_one_edit_is_a_letter_added_dropped_changed_or_swapped(word, known):
    added = {word[:i] + letter + word[i:] for i in range(len(word) + 1) for letter in "ab"}
    dropped = {word[:i] + word[i + 1 :] for i in range(len(word))}
    changed = {word[:i] + letter + word[i + 1 :] for i in range(len(word)) for letter in "ab"}
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}
    assert (nearest(word, [known]) == known) == (known in added | dropped | changed | swapped | {word})


def test_a_word_that_differs_in_case_alone_is_nearer_than_any_other():
    assert nearest("CET", ["EET", "cet"]) == "cet"
    assert did_you_mean("x" * 60_000, ["tz", "win"], "something else") == "something else"


def test_a_long_text_is_clipped_in_messages():
    assert clip("x" * 20) == "x" * 20
    assert clip("x" * 21) == "x" * 19 + "…"
    assert len(str(caught("9" * 60_000 + " * * * *"))) < 400
