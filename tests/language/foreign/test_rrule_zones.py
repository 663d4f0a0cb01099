"""Recurrences with a time zone: intervals of elapsed time are refused where clocks change."""

import pytest

from kron.errors import LanguageError
from kron.language import parse
from kron.language.canonical import canonical


@pytest.mark.parametrize("rule", ["FREQ=HOURLY;INTERVAL=5", "FREQ=MINUTELY;INTERVAL=90"])
def test_an_interval_of_elapsed_time_needs_a_clock_that_never_changes(rule):
    with pytest.raises(LanguageError) as caught:
        parse(f"DTSTART;TZID=Europe/Paris:20260105T090000 RRULE:{rule}", dialect="rrule")
    assert caught.value.code == "NOT_SAYABLE"
    for start in ("DTSTART:20260105T090000Z", "DTSTART;TZID=Asia/Kolkata:20260105T090000"):
        assert parse(f"{start} RRULE:{rule}", dialect="rrule")


def test_the_text_of_the_hint_is_accepted():
    with pytest.raises(LanguageError) as caught:
        parse("DTSTART:20260105T090000 RRULE:FREQ=HOURLY;INTERVAL=5", dialect="rrule", timezone="Europe/Paris")
    text = caught.value.hint.partition("or write ")[2].partition(" in the plus")[0]
    assert canonical(parse(text, dialect="plus")).text == "every 5h from 2026-01-05T09:00 @tz(Europe/Paris)"


def test_an_interval_that_divides_a_day_stays_on_the_wall_clock():
    text = "DTSTART;TZID=Europe/Paris:20260105T090000 RRULE:FREQ=HOURLY;INTERVAL=2"
    assert canonical(parse(text, dialect="rrule")).text.startswith("0 1-23/2 * * * @tz(Europe/Paris)")


def test_a_zone_with_spaces_is_an_unknown_zone():
    with pytest.raises(LanguageError) as caught:
        parse("DTSTART;TZID=Eastern Standard Time:20260105T090000 RRULE:FREQ=DAILY", dialect="rrule")
    assert caught.value.code == "UNKNOWN_ZONE"


@pytest.mark.parametrize("text", ["FREQ=DAILY;INTERVAL=2", "RRULE:FREQ=DAILY;INTERVAL=2"])
def test_the_hint_for_a_rule_without_a_start_is_accepted(text):
    with pytest.raises(LanguageError) as caught:
        parse(text, dialect="rrule")
    assert parse(caught.value.hint.removeprefix("add the first run: "), dialect="rrule")
