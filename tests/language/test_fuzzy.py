"""Sentences -> placeholders: the grammar of sections 3 to 5, 7.2 and appendix A."""

import pytest

from kron.language.fault import Fault
from kron.language.sentences import grammar
from kron.language.sentences.clocktime import ClockTime, read_time, to_utc
from kron.language.sentences.placeholder import Around, Between, read_placeholder, write_placeholder
from kron.language.sentences.sentence_errors import WEEKDAYS
from kron.language.tokens import tokens


def placeholder(text):
    return grammar.read(text).placeholder


def codes(text):
    return [finding.code for finding in grammar.read(text).findings]


def refused(text):
    with pytest.raises(Fault) as caught:
        grammar.read(text)
    return caught.value.code


def time(text):
    return read_time(tokens(text), text).clock


def says(*rows):
    """Rows of requirement ids, a sentence and its placeholder."""
    return pytest.mark.parametrize(
        ("text", "expected"),
        [pytest.param(text, expected, id=text, marks=pytest.mark.req(*ids.split())) for ids, text, expected in rows],
    )


@says(
    ("FUZZY-3.1-DAILY FUZZY-3.2.1-PLACEHOLDER FUZZY-7.2-DAILY FUZZY-A1-DAILY", "daily", "FUZZY:DAILY * * *"),
    (
        "FUZZY-3.1-AROUND FUZZY-3.2.2-PLACEHOLDER FUZZY-3.2.2-EX FUZZY-7.2-DAILY-AROUND FUZZY-A1-AROUND",
        "daily around 14:00",
        "FUZZY:DAILY_AROUND:14:0 * * *",
    ),
    ("FUZZY-3.1-DAILY", "daily around noon", "FUZZY:DAILY_AROUND:12:0 * * *"),
    ("FUZZY-3.1-DAILY", "daily between 1am and 2am", "FUZZY:DAILY_BETWEEN:1:0:2:0 * * *"),
    (
        "FUZZY-3.1-BETWEEN FUZZY-3.2.3-PLACEHOLDER FUZZY-3.2.3-EX1 FUZZY-4.2.2-RANGES"
        " FUZZY-7.2-DAILY-BETWEEN FUZZY-A1-BETWEEN",
        "daily between 9:00 and 17:00",
        "FUZZY:DAILY_BETWEEN:9:0:17:0 * * *",
    ),
    ("FUZZY-3.2.3-EX2 FUZZY-4.2.2-RANGES", "daily between 22:00 and 02:00", "FUZZY:DAILY_BETWEEN:22:0:2:0 * * *"),
    ("FUZZY-3.1-WEEKLY FUZZY-3.3.1-PLACEHOLDER FUZZY-7.2-WEEKLY FUZZY-A2-WEEKLY", "weekly", "FUZZY:WEEKLY * * *"),
    (
        "FUZZY-3.1-WEEKLY FUZZY-3.3.2-EX FUZZY-7.2-WEEKLY-DOW FUZZY-A2-DAY",
        "weekly on monday",
        "FUZZY:WEEKLY:1 * * 1",
    ),
    (
        "FUZZY-3.1-WEEKLY FUZZY-3.3.3-CONSTRAINT FUZZY-3.3.3-EX FUZZY-7.2-WEEKLY-AROUND FUZZY-A2-AROUND",
        "weekly on friday around 17:00",
        "FUZZY:WEEKLY:5:AROUND:17:0 * * 5",
    ),
    ("FUZZY-3.1-WEEKLY", "weekly around 14:00", "FUZZY:WEEKLY:AROUND:14:0 * * *"),
    ("FUZZY-3.1-WEEKLY", "weekly between 9:00 and 17:30", "FUZZY:WEEKLY:BETWEEN:9:0:17:30 * * *"),
    (
        "FUZZY-3.3.3-CONSTRAINT FUZZY-7.2-WEEKLY-BETWEEN",
        "weekly on friday between 9:00 and 17:30",
        "FUZZY:WEEKLY:5:BETWEEN:9:0:17:30 * * 5",
    ),
    ("FUZZY-3.1-HOURLY FUZZY-3.4.1-PLACEHOLDER FUZZY-7.2-HOURLY FUZZY-A3-HOURLY", "hourly", "FUZZY:HOURLY * * *"),
    (
        "FUZZY-3.1-HOURLY FUZZY-3.4.2-PLACEHOLDER FUZZY-3.4.2-EX FUZZY-3.6-HOURS FUZZY-7.2-HOURLYN FUZZY-A3-2H",
        "every 2h",
        "FUZZY:HOURLY:2 * * *",
    ),
    ("FUZZY-3.4.2-FORMS FUZZY-3.1-HOUR-INTERVAL", "every 2 hours", "FUZZY:HOURLY:2 * * *"),
    ("FUZZY-3.4.2-FORMS FUZZY-3.1-HOUR-INTERVAL", "every 2 hour", "FUZZY:HOURLY:2 * * *"),
    ("FUZZY-3.6-EX2", "every 6h", "FUZZY:HOURLY:6 * * *"),
    ("FUZZY-3.5.1-PLACEHOLDER FUZZY-7.2-BIWEEKLY FUZZY-A3-BIWEEKLY", "bi-weekly", "FUZZY:BI-WEEKLY * * *"),
    ("FUZZY-3.5.2-PLACEHOLDER FUZZY-7.2-TRIWEEKLY", "tri-weekly", "FUZZY:TRI-WEEKLY * * *"),
    ("FUZZY-3.6-MINUTES FUZZY-3.6-EX1 FUZZY-A3-5MIN", "every 5 minutes", "*/5 * * * *"),
    ("FUZZY-3.1-MINUTE-INTERVAL", "every 5m", "*/5 * * * *"),
    ("FUZZY-3.6-DAYS FUZZY-3.6-EX3 FUZZY-3.1-DAY-INTERVAL", "every 2 days", "0 0 */2 * *"),
    ("FUZZY-3.1-DAY-INTERVAL", "every 2d", "0 0 */2 * *"),
    ("FUZZY-3.6-WEEKS FUZZY-3.1-WEEK-INTERVAL", "every 2 weeks", "0 0 */14 * *"),
    ("FUZZY-3.6-WEEKS FUZZY-3.1-WEEK-INTERVAL", "every 1w", "0 0 * * 0"),
    ("FUZZY-A1-TZ", "daily around 14:00 utc+9", "FUZZY:DAILY_AROUND:5:0 * * *"),
    ("FUZZY-A4-JST", "daily between 9am utc+9 and 5pm utc+9", "FUZZY:DAILY_BETWEEN:0:0:8:0 * * *"),
    ("FUZZY-A4-EST", "weekly on monday around 3pm utc-5", "FUZZY:WEEKLY:1:AROUND:20:0 * * 1"),
    ("FUZZY-A4-IST", "daily around 9:30am utc+05:30", "FUZZY:DAILY_AROUND:4:0 * * *"),
    ("FUZZY-5.3-PST", "daily around 9am pst", "FUZZY:DAILY_AROUND:17:0 * * *"),
    ("FUZZY-5.3-PDT", "daily around 9am PDT", "FUZZY:DAILY_AROUND:16:0 * * *"),
    ("FUZZY-5.3-EST", "daily around 9am est", "FUZZY:DAILY_AROUND:14:0 * * *"),
    ("FUZZY-5.3-EDT", "daily around 9am edt", "FUZZY:DAILY_AROUND:13:0 * * *"),
    ("FUZZY-5.3-JST", "daily around 9am jst", "FUZZY:DAILY_AROUND:0:0 * * *"),
    ("FUZZY-5.3-IST", "daily around 9am ist", "FUZZY:DAILY_AROUND:3:30 * * *"),
    ("FUZZY-5.3-PT", "daily around 9am pt", "FUZZY:DAILY_AROUND:17:0 * * *"),
)
def test_a_sentence_has_its_placeholder(text, expected):
    assert placeholder(text) == expected


@pytest.mark.req("FUZZY-3.1-WEEKDAY", "FUZZY-3.3.2-PLACEHOLDER")
def test_the_weekdays_are_the_seven_full_names_from_sunday():
    assert [placeholder(f"weekly on {day}") for day in WEEKDAYS] == [f"FUZZY:WEEKLY:{n} * * {n}" for n in range(7)]
    assert refused("weekly on mon") == "UNKNOWN_WEEKDAY"


@pytest.mark.req("FUZZY-3.1-TOP", "FUZZY-1.2-OUT", "FUZZY-C.4-TYPE")
def test_a_sentence_is_one_of_the_listed_kinds_and_nothing_else():
    for text in ("daily", "hourly", "weekly", "every 2 days"):
        assert placeholder(text)
    for text in ("monthly", "yearly", "0 9 * * 1", "nightly", "on monday", ""):
        assert refused(text) == "UNKNOWN_KEYWORD"


@pytest.mark.req("FUZZY-3.6-FORM", "FUZZY-3.1-INTERVAL")
def test_every_unit_has_three_names_and_space_before_it_does_not_matter():
    for names, number in (("minutes minute m", 10), ("hours hour h", 4), ("days day d", 3), ("weeks week w", 2)):
        found = {placeholder(f"every {number}{space}{name}") for name in names.split() for space in ("", " ")}
        assert len(found) == 1
    for unit in ("fortnights", "seconds", "months", "min", "hrs"):
        assert refused(f"every 5 {unit}") == "UNKNOWN_UNIT"


@pytest.mark.req("FUZZY-3.4.2-FACTORS", "FUZZY-3.4.2-FORMS", "FUZZY-3.4.2-PLACEHOLDER")
def test_hours_divide_the_day():
    for hours in (1, 2, 3, 4, 6, 8, 12):
        assert placeholder(f"every {hours}h") == f"FUZZY:HOURLY:{hours} * * *"
    for hours in (5, 7, 24, 36):
        assert refused(f"every {hours}h") == "UNSUPPORTED_INTERVAL"
    assert refused("every 0h") == "NON_POSITIVE_INTERVAL"


@pytest.mark.req("FUZZY-3.6-MINUTES", "FUZZY-C.4-INTERVAL")
def test_intervals_are_positive_whole_numbers_that_a_field_can_hold():
    assert placeholder("every 59 minutes") == "*/59 * * * *"
    assert refused("every 4 minutes") == "INTERVAL_TOO_SMALL"
    assert {refused(f"every {n}") for n in ("0 days", "-1 days", "00h")} == {"NON_POSITIVE_INTERVAL"}
    assert {refused(f"every {n}") for n in ("1.5 hours", "1,5h", "1/2 hour")} == {"NON_INTEGER_INTERVAL"}
    too_long = ("60 minutes", "32 days", "5 weeks", "9" * 5_000 + " days")
    assert {refused(f"every {n}") for n in too_long} == {"UNSUPPORTED_INTERVAL"}


@pytest.mark.req("FUZZY-3.1-TIMESPEC")
@pytest.mark.parametrize(("text", "minute"), [("9:30", 570), ("3pm", 900), ("midnight", 0), ("noon", 720)])
def test_a_time_may_have_an_offset(text, minute):
    assert time(text) == (minute, 0)
    assert time(f"{text} utc+1") == ((minute - 60) % 1440, -1 if minute < 60 else 0)


@pytest.mark.req("FUZZY-3.1-HOUR24", "FUZZY-4.1.1-24H", "FUZZY-4.1.1-LEADZERO", "FUZZY-4.1.1-EX", "FUZZY-C.4-TIME")
def test_the_24_hour_clock():
    assert [time(text).minute for text in ("00:00", "9:30", "14:00", "23:59")] == [0, 570, 840, 1439]
    assert time("9:30") == time("09:30")
    assert refused("daily around 24:00") == "HOUR_OUT_OF_RANGE"
    assert refused("daily around 23:60") == "MINUTE_OUT_OF_RANGE"
    assert refused("daily around 9:3") == "INVALID_TIME_FORMAT"


@pytest.mark.req("FUZZY-3.1-HOUR12", "FUZZY-4.1.2-12H", "FUZZY-4.1.2-12AM", "FUZZY-4.1.2-12PM")
@pytest.mark.req("FUZZY-4.1.2-AM", "FUZZY-4.1.2-PM", "FUZZY-4.1.2-EX", "FUZZY-4.1.2-MINUTES")
def test_the_12_hour_clock():
    assert [time(f"{hour}am").minute for hour in (12, *range(1, 12))] == [60 * hour for hour in range(12)]
    assert [time(f"{hour}pm").minute for hour in (12, *range(1, 12))] == [60 * hour for hour in range(12, 24)]
    assert time("3:30pm") == (930, 0)
    assert time("3 pm") == time("3pm")
    for text in ("0am", "13pm", "00am", "13:30pm", "13 pm"):
        assert refused(f"daily around {text}") == "INVALID_12H"


@pytest.mark.req("FUZZY-4.1.2-LOWER", "FUZZY-4.1.3-KEYWORDS", "FUZZY-4.1.3-CASE")
def test_letters_count_in_either_case_but_only_letters_of_ascii():
    assert placeholder("Daily Around 3PM") == placeholder("daily around 3pm")
    assert placeholder("daily around NOON") == "FUZZY:DAILY_AROUND:12:0 * * *"
    assert placeholder("daily around Midnight") == "FUZZY:DAILY_AROUND:0:0 * * *"
    assert refused("wee\u212aly") == "UNKNOWN_KEYWORD"  # the Kelvin sign, whose lower case is k
    assert refused("daily around ９:00") == "INVALID_TIME_FORMAT"


@pytest.mark.req("FUZZY-3.1-UTCOFFSET", "FUZZY-5.1-SYNTAX", "FUZZY-5.1-EX")
def test_offsets_are_hours_and_may_have_two_digits_of_minutes():
    offsets = {"utc+9": 540, "utc-5": -300, "utc+05:30": 330, "utc-08:00": -480, "utc+0": 0, "utc-0": 0}
    assert {text: read_time(tokens(f"0:00 {text}"), "").offset for text in offsets} == offsets
    for text in ("utc+9:5", "utc9", "utc", "utc+", "utc +9", "utc+0530", "utc+5:60"):
        assert refused(f"daily around 9am {text}") == "MALFORMED_OFFSET"


@pytest.mark.req("FUZZY-5.1-RANGE", "FUZZY-C.3-BOUNDS")
def test_offsets_end_at_the_last_places_on_earth():
    for text in ("utc+14", "utc+14:00", "utc-12:00", "utc-12"):
        assert placeholder(f"daily around noon {text}")
    for text in ("utc+14:01", "utc-12:01", "utc+15", "utc+25"):
        assert refused(f"daily around noon {text}") == "INVALID_OFFSET"


@pytest.mark.req("FUZZY-5.2.1-FORMULA", "FUZZY-5.2.1-EX", "FUZZY-5.2.2-WRAP", "FUZZY-5.2.2-EX", "FUZZY-C.3-INT")
def test_utc_is_local_minus_offset_in_whole_minutes():
    assert to_utc(14 * 60, 540) == ClockTime(5 * 60, 0)
    assert to_utc(2 * 60, 540) == ClockTime(17 * 60, -1)
    assert to_utc(23 * 60 + 30, -60) == ClockTime(30, 1)
    for local in range(1440):
        for offset in range(-720, 841, 15):
            minute, carry = to_utc(local, offset)
            assert type(minute) is int
            assert minute + 1440 * carry == local - offset
            assert 0 <= minute < 1440


@pytest.mark.req("FUZZY-4.2.2-SIZE", "FUZZY-4.2.2-EX", "FUZZY-6.3.3-SIZE")
def test_the_size_of_a_range_counts_across_midnight():
    assert Between(22 * 60, 2 * 60).size == 240
    assert Between(9 * 60, 17 * 60).size == 480
    for start in range(0, 1440, 37):
        for end in range(0, 1440, 41):
            if start != end:
                minutes = [m % 1440 for m in range(start, start + 1440)]
                assert Between(start, end).size == minutes.index(end)


@pytest.mark.req("FUZZY-4.2.1-WRAP-LOW", "FUZZY-4.2.1-WRAP-HIGH", "FUZZY-4.2.1-WINDOW")
def test_around_reaches_into_the_neighbouring_day():
    assert (Around(30).first, Around(30).last) == (23 * 60 + 30 - 1440, 90)
    assert (Around(1410).first, Around(1410).last) == (22 * 60 + 30, 1440 + 30)


def test_the_weekday_moves_with_the_conversion_to_utc():
    assert placeholder("weekly on monday around 2am utc+9") == "FUZZY:WEEKLY:0:AROUND:17:0 * * 0"
    assert placeholder("weekly on saturday around 11pm utc-5") == "FUZZY:WEEKLY:0:AROUND:4:0 * * 0"
    assert placeholder("weekly on sunday between 1am utc+3 and 6am utc+3") == "FUZZY:WEEKLY:6:BETWEEN:22:0:3:0 * * 6"
    assert placeholder("daily around 1am utc+9 on weekdays") == "FUZZY:DAILY_AROUND_WEEKDAYS:16:0 * * 0-4"
    assert placeholder("daily around 11pm utc-5 on weekdays") == "FUZZY:DAILY_AROUND_WEEKDAYS:4:0 * * 2-6"


def test_weekdays_go_with_days_and_hours():
    assert placeholder("daily on weekdays") == "FUZZY:DAILY_WEEKDAYS * * *"
    assert placeholder("daily around 9am on weekdays") == "FUZZY:DAILY_AROUND_WEEKDAYS:9:0 * * *"
    assert placeholder("daily between 9am and 5pm on weekdays") == "FUZZY:DAILY_BETWEEN_WEEKDAYS:9:0:17:0 * * *"
    assert placeholder("hourly on weekdays") == "FUZZY:HOURLY_WEEKDAYS * * *"
    assert placeholder("every 2h on weekdays") == "FUZZY:HOURLY_WEEKDAYS:2 * * *"
    for text in ("bi-weekly on weekdays", "every 2 days on weekdays", "every 5 minutes on weekdays"):
        assert refused(text) == "UNEXPECTED_TOKEN"


@pytest.mark.req("FUZZY-5.3-PT")
def test_what_is_doubtful_is_warned_about():
    assert codes("daily around 9am pt") == ["AMBIGUOUS_ZONE"]
    assert codes("daily between 9am utc+1 and 5pm") == ["ONE_SIDED_OFFSET"]
    assert codes("bi-weekly") == ["UNEVEN_CADENCE"]
    assert codes("every 7 minutes") == ["FIXED_INTERVAL", "UNEVEN_STEP"]
    assert codes("daily around 9am pst") == []


@pytest.mark.req("FUZZY-9.3-WARN")
@pytest.mark.parametrize("text", ["every 5 minutes", "every 2 days", "every 1 week", "every 3 weeks"])
def test_fixed_intervals_are_warned_about(text):
    finding = grammar.read(text).findings[0]
    assert finding.code == "FIXED_INTERVAL"
    assert finding.message.startswith("Consider using '")
    assert finding.message.endswith("' instead of fixed interval")
    assert finding.hint == "Fixed intervals create load spikes when many workflows run simultaneously"
    assert grammar.read(finding.message.split("'")[1])  # what it suggests is a sentence


def test_spaces_tabs_and_no_break_spaces_separate_words():
    assert placeholder("  weekly\ton\u00a0monday ") == "FUZZY:WEEKLY:1 * * 1"


@pytest.mark.req("FUZZY-C.4-SANITIZE")
@pytest.mark.parametrize(
    "text",
    ["daily\nfoo", "daily\n", "daily; rm -rf /", "daily\x1b[31m", "daily\u2028around noon", "daily\x00", "$(daily)"],
)
def test_nothing_but_a_sentence_gets_through_and_no_control_character_gets_out(text):
    with pytest.raises(Fault) as caught:
        grammar.read(text)
    said = str(caught.value.within(text))
    assert all(char.isprintable() or char == "\n" for char in said)


@pytest.mark.req("FUZZY-7.1-FORMAT")
@pytest.mark.parametrize(
    "text",
    [
        "daily",
        "daily on weekdays",
        "daily around 9:05 utc+9 on weekdays",
        "daily between 22:00 and 2:00",
        "hourly",
        "every 12h on weekdays",
        "weekly",
        "weekly on sunday",
        "weekly on monday around 0:30 utc+1",
        "weekly on saturday between 8am and noon",
        "bi-weekly",
        "tri-weekly",
    ],
)
def test_a_placeholder_can_be_read_back(text):
    plan = grammar.read(text).plan
    assert read_placeholder(write_placeholder(plan)) == plan
