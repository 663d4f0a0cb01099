"""Pieces: every field and modifier of a text, in order and without a rest, each with a meaning."""

import pytest
from hypothesis import given

import kron
from kron.errors import LanguageError
from kron.language.english import describe
from kron.language.pieces import pieces_of
from tests.language.texts import kron_texts


def meanings(text, dialect="kron", **options):
    return [piece.meaning for piece in pieces_of(text, dialect, kron.parse(text, dialect=dialect, **options)).pieces]


@given(kron_texts())
def test_pieces_are_the_whole_text_and_each_has_a_meaning(text):
    try:
        schedule = kron.parse(text, dialect="kron")
    except LanguageError:
        return
    parts = pieces_of(text, "kron", schedule)
    position = 0
    for piece in parts.pieces:
        assert parts.text[position : piece.start].strip(" \t") == ""
        assert parts.text[piece.start : piece.start + len(piece.text)] == piece.text
        assert piece.meaning and not piece.meaning.startswith(" ")
        position = piece.start + len(piece.text)
    assert parts.text[position:].strip(" \t") == ""


def test_fields_and_modifiers_in_words():
    text = "30 17 * * MON-FRI @tz(Europe/Paris) @win(around,90m) @dist(normal) @avoid(date=2026-10-30)"
    assert meanings(text) == [
        "minute 30",
        "hour 17",
        "any day of the month",
        "any month",
        "from Monday to Friday",
        "times are those of Europe/Paris",
        "at a second from 45 minutes before to 45 minutes after",
        "mostly near the middle",
        "never on 2026-10-30",
    ]


@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ("*/5 0-6,12 1,15 JAN-MAR 0", "kron", ["every 5 minutes", "hours 0 to 6 and 12", "on the 1st and 15th"]),
        ("*/30 * * * * *", "service", ["every 30 seconds", "every minute", "every hour"]),
        ("0 9 1-31 * 0-6", "kron", ["minute 0", "hour 9", "on every day of the month"]),
        ("0 9 L * MON#1", "plus", ["minute 0", "hour 9", "on the last day"]),
    ],
)
def test_field_in_words(text, dialect, expected):
    assert meanings(text, dialect)[: len(expected)] == expected


def test_modifiers_of_policy_seed_and_rules():
    rules = "@seed(daily,salt=x) @dst(once) @valid(until=2027-01-01T00:00)"
    text = f"0 2 * * * @tz(Europe/Paris) @policy(deadline=30m) @win(after,1h) {rules}"
    values = meanings(text, "plus")[6:]
    assert values[0].startswith("Starts up to 30 minutes late")
    assert values[2] == "drawn again each day, with a salt"
    assert values[3] == "once also on days when the clocks change"
    assert values[4] == "until 2027-01-01 00:00"


def test_head_that_is_no_cron_line_is_one_piece():
    text = "every 90m from 2026-01-01T00:00"
    (piece,) = pieces_of(text, "plus", kron.parse(text, dialect="plus")).pieces
    assert (piece.text, piece.meaning.startswith("every 1 hour and 30 minutes")) == (text, True)


def test_sentence_is_taken_apart_as_its_canonical_text():
    schedule = kron.parse("daily around 14:00", dialect="fuzzy", identity="a")
    parts = pieces_of("daily around 14:00", "fuzzy", schedule)
    assert kron.parse(parts.text, dialect=parts.dialect) == schedule
    assert describe(schedule).lower().startswith("at 1")
    assert len(parts.pieces) == 5
