"""What is refused, with which codes of both tables, in which words: sections 3.7 and 9, appendix B."""

import pytest

from kron.errors import LanguageError
from kron.language import parse
from kron.language.fault import Fault
from kron.language.sentences import grammar
from kron.language.sentences.sentence_errors import CODES


def refusal(text):
    with pytest.raises(LanguageError) as caught:
        parse(text, dialect="fuzzy", identity="o/r/w.md")
    return caught.value


# row of section 3.7 -> the sentence of that row, the code, and what its message must hold
ROWS = {
    "E-01": ("monthly", "UNKNOWN_KEYWORD", ["monthly", "daily, weekly, hourly, bi-weekly, tri-weekly, every"]),
    "E-02": ("daily around 25:00", "HOUR_OUT_OF_RANGE", ["25", "0-23"]),
    "E-03": ("daily around 14:65", "MINUTE_OUT_OF_RANGE", ["65", "0-59"]),
    "E-04": ("daily around", "MISSING_TIME_SPEC", ["Example: daily around 14:00"]),
    "E-05": ("daily between 9:00", "INCOMPLETE_RANGE", ["both a start and an end time connected by 'and'"]),
    "E-06": ("daily between 14:00 and 14:00", "ZERO_DURATION_RANGE", ["zero duration"]),
    "E-07": ("weekly on mondey", "UNKNOWN_WEEKDAY", ["did you mean 'monday'?"]),
    "E-08": (
        "every 5 fortnights",
        "UNKNOWN_UNIT",
        ["minutes (minute, m)", "hours (hour, h)", "days (day, d)", "weeks"],
    ),
    "E-09": ("every 2 minutes", "INTERVAL_TOO_SMALL", ["5 minutes", "GitHub Actions"]),
    "E-10": ("every 1.5 hours", "NON_INTEGER_INTERVAL", ["1.5", "fractional values are not supported"]),
}


@pytest.mark.parametrize("row", [pytest.param(row, marks=pytest.mark.req(f"FUZZY-{row}"), id=row) for row in ROWS])
def test_each_row_is_refused_with_its_code_and_says_what_it_must(row):
    text, code, words = ROWS[row]
    error = refusal(text)
    assert (error.code, error.details["row"]) == (code, row)
    for word in words:
        assert word in str(error)


@pytest.mark.req("FUZZY-E-07")
def test_a_weekday_is_suggested_only_where_one_character_is_wrong():
    for text, day in (("mondey", "monday"), ("tusday", "tuesday"), ("sundayy", "sunday"), ("fryday", "friday")):
        assert refusal(f"weekly on {text}").hint == f"did you mean '{day}'?"
    for text in ("foo", "wendsdey", "m"):
        assert "did you mean" not in str(refusal(f"weekly on {text}"))
    assert refusal("weekly on mon").hint == "write monday"


APPENDIX = {
    "ERR-SYNTAX-001": ["monthly", "", "daily,weekly"],
    "ERR-SYNTAX-002": ["daily around 25:00", "daily around foo", "daily between 9 and 17"],
    "ERR-SYNTAX-003": ["weekly on mondey"],
    "ERR-SYNTAX-004": ["daily around", "daily between 9:00 and", "weekly on", "every", "every 5"],
    "ERR-SYNTAX-005": ["daily at 14:00", "weekly at 9:00", "hourly now", "weekly on monday at 9:00"],
    "ERR-TIME-001": ["daily around 25:00", "daily around -1:00"],
    "ERR-TIME-002": ["daily around 14:60", "daily around 12:60pm"],
    "ERR-TIME-003": ["daily around 13pm", "daily around 0am"],
    "ERR-TZ-001": ["daily around 9am utc+25", "daily around 9am utc-13"],
    "ERR-TZ-002": ["daily around 9am utc9", "daily around 9am utc+5:3"],
    "ERR-INTERVAL-001": ["every 0h", "every 2 minutes", "every 1.5 hours", "every two hours"],
    "ERR-INTERVAL-002": ["every 5h", "every 90 minutes", "every 5 weeks", "every 5 fortnights"],
}


@pytest.mark.parametrize(
    "code", [pytest.param(code, marks=pytest.mark.req(f"FUZZY-{code}"), id=code) for code in APPENDIX]
)
def test_each_code_of_the_appendix_is_carried(code):
    for text in APPENDIX[code]:
        assert code in refusal(text).details["appendix_codes"], text


def test_every_code_has_an_entry_in_both_tables():
    rows = [row for row, _ in CODES.values() if row]
    assert rows == [f"E-{n:02d}" for n in range(1, 11)]
    assert {code for _, appendix in CODES.values() for code in appendix} == set(APPENDIX)


TEXTS = [
    ("FUZZY-9.1.1-MSG", "monthly", "Unknown schedule type 'monthly'",
     "Valid types: daily, weekly, hourly, bi-weekly, tri-weekly, every"),
    ("FUZZY-9.1.2-MSG", "daily around 25:00", "Invalid time format '25:00' in 'daily around 25:00'",
     "Time must be in 24-hour format (HH:MM, 0-23 hours) or 12-hour format with am/pm"),
    ("FUZZY-9.1.3-MSG", "weekly on mondey", "Unknown weekday 'mondey' in 'weekly on mondey'",
     "Valid weekdays: sunday, monday, tuesday, wednesday, thursday, friday, saturday"),
    ("FUZZY-9.1.4-MSG", "every 5h", "Invalid interval '5' in 'every 5h'",
     "Valid hour intervals: 1h, 2h, 3h, 4h, 6h, 8h, 12h"),
    ("FUZZY-9.2.1-MSG", "daily around", "'around' requires a time specification", "Example: daily around 14:00"),
    ("FUZZY-9.2.2-MSG", "daily at 14:00", "'daily at <time>' syntax is not supported",
     "Use 'daily around <time>' for fuzzy scheduling within ±1 hour window"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "first", "second"), [pytest.param(*row, marks=pytest.mark.req(id), id=id) for id, *row in TEXTS]
)
def test_the_first_two_lines_are_those_of_the_document(text, first, second):
    assert refusal(text).message == f"{first}\n{second}"


@pytest.mark.req("FUZZY-9.5.2-RANGE")
@pytest.mark.parametrize(
    ("token", "valid"),
    [("24:00", "0-23"), ("99:00", "0-23"), ("-1:00", "0-23"), ("9:60", "0-59"), ("9:-1", "0-59"), ("13pm", "1-12")],
)
def test_a_time_out_of_range_is_named_with_the_valid_range(token, valid):
    error = refusal(f"daily around {token}")
    assert token in error.message
    assert valid in error.hint


@pytest.mark.req("FUZZY-9.5.3-GRAMMAR", "FUZZY-9.4-NOFIX", "FUZZY-3.7-NOAUTOFIX")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("daily between 9:00 17:00", "INCOMPLETE_RANGE"),
        ("daily between 9:00 to 17:00", "INCOMPLETE_RANGE"),
        ("daily around 9am foo", "UNEXPECTED_TOKEN"),
        ("hourly now", "UNEXPECTED_TOKEN"),
        ("daily daily", "UNEXPECTED_TOKEN"),
        ("daily on", "UNEXPECTED_TOKEN"),
        ("bi-weekly on monday", "UNEXPECTED_TOKEN"),
        ("every 2h 30m", "UNEXPECTED_TOKEN"),
        ("weekly on monday around 9am on weekdays", "UNEXPECTED_TOKEN"),
        ("daily between 9am and 5pm and 6pm", "UNEXPECTED_TOKEN"),
        ("weekly on mondey", "UNKNOWN_WEEKDAY"),
        ("dialy", "UNKNOWN_KEYWORD"),
    ],
)
def test_what_is_almost_a_sentence_is_refused_not_mended(text, code):
    assert refusal(text).code == code


@pytest.mark.req("FUZZY-9.4-GUIDE")
def test_every_refusal_points_at_a_place_and_says_what_would_do():
    texts = [text for texts in APPENDIX.values() for text in texts] + [text for text, *_ in ROWS.values()]
    for text in texts:
        error = refusal(text)
        assert error.hint, text
        assert 0 <= error.place.start < error.place.end, text
        assert error.place.start <= len(text), text


@pytest.mark.req("FUZZY-9.5.4-STABLE")
def test_paraphrases_of_one_mistake_have_one_code():
    for code, texts in {
        "HOUR_OUT_OF_RANGE": ("daily around 25:00", "DAILY  around 24:30", "weekly on monday around 99:00"),
        "INCOMPLETE_RANGE": ("daily between 9:00", "daily between and 17:00", "weekly on friday between 9am"),
        "UNKNOWN_UNIT": ("every 5 fortnights", "every 5s", "every 2 Months"),
    }.items():
        assert {refusal(text).code for text in texts * 2} == {code}


@pytest.mark.req("FUZZY-3.7-PHASE")
def test_the_reader_and_the_parser_give_the_same_code():
    for text, code, _ in ROWS.values():
        with pytest.raises(Fault) as caught:
            grammar.read(text)
        assert caught.value.code == refusal(text).code == code


def test_the_caret_stands_under_the_word():
    assert str(refusal("weekly  on\tmondey around 9am")).splitlines()[2:4] == [
        "  weekly  on\tmondey around 9am",
        "            \t^^^^^^",
    ]


def test_a_long_text_is_cut_in_the_message():
    error = refusal("daily around " + "9" * 10_000)
    assert len(str(error)) < 600
    assert refusal("daily " * 20_000).code == "TOO_LONG"
