"""The jenkins reader: H by the identity, macros, the zone line, and what it refuses."""

from itertools import pairwise

import pytest

from kron.errors import LanguageError
from kron.language import parse
from kron.language.canonical import canonical
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.dst import WALL
from tests.language.asking import numbers


def jenkins(text, identity="team/build", timezone="UTC"):
    return parse(text, dialect="jenkins", identity=identity, timezone=timezone)


def test_a_hashed_value_depends_on_the_identity_alone():
    assert jenkins("H H * * *") == jenkins("H H * * *") != jenkins("H H * * *", "team/other")
    minutes = {jenkins("H * * * *", f"job-{n}").cron.minutes for n in range(2_000)}
    assert len(minutes) == 60


def test_a_hashed_value_is_the_same_in_every_release():
    assert canonical(jenkins("H H(0-7) * * *")).text == "26 4 * * *"


@pytest.mark.parametrize("number", range(50))
def test_hashed_ranges_and_steps_stay_in_their_bounds(number):
    identity = f"job-{number}"
    fields = jenkins("H/15 H(9-16)/2 H H H", identity).cron
    minutes, hours = numbers(fields.minutes), numbers(fields.hours)
    assert len(minutes) == 4
    assert {b - a for a, b in pairwise(minutes)} == {15}
    assert 9 <= hours[0] <= 10
    assert hours[-1] <= 16
    assert numbers(fields.days, 1)[0] <= 28
    assert numbers(fields.weekdays)[0] <= 6


@pytest.mark.parametrize(
    ("macro", "fields"),
    [
        ("@hourly", "H * * * *"),
        ("@daily", "H H * * *"),
        ("@midnight", "H H(0-2) * * *"),
        ("@weekly", "H H * * H"),
        ("@monthly", "H H H * *"),
        ("@yearly", "H H H H *"),
        ("@annually", "H H H H *"),
    ],
)
def test_a_macro_is_hashed(macro, fields):
    assert jenkins(macro) == jenkins(fields)


def test_a_line_before_the_fields_names_the_zone():
    schedule = jenkins("# nightly\nTZ=Europe/Paris\n30 2 * * *\n", timezone="Asia/Tokyo")
    assert canonical(schedule).text == "30 2 * * * @tz(Europe/Paris)"
    assert schedule.terms.dst == WALL


def test_both_day_fields_must_match():
    assert canonical(jenkins("0 0 13 * 5")).text == "0 0 13 * FRI @days(match=both)"
    assert not isinstance(jenkins("0 0 1-31 * 5,7").cron, DayCron)
    assert jenkins("0 0 * * 0,7", identity="") == jenkins("0 0 * * 7", identity="")


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("H(9-5) * * * *", "REVERSED_RANGE", "9-5"),
        ("H/61 * * * *", "BAD_STEP", "61"),
        ("H/0 * * * *", "BAD_STEP", "0"),
        ("H/ * * * *", "BAD_STEP", "/"),
        ("0 0 * * MON", "NAME", "MON"),
        ("5/15 * * * *", "STEP_NEEDS_RANGE", "5/15"),
        ("@reboot", "MACRO", "@reboot"),
        ("0 0 * *", "FIELD_COUNT", ""),
        ("0 0 * * * *", "FIELD_COUNT", "*"),
        ("0 0 * * *\n0 1 * * *", "UNEXPECTED_TOKEN", "0 1 * * *"),
        ("TZ=Mars/Base\n0 0 * * *", "UNKNOWN_ZONE", "Mars/Base"),
        ("TZ=UTC", "FIELD_COUNT", ""),
        ("", "FIELD_COUNT", ""),
    ],
)
def test_other_texts_are_refused(text, code, part):
    with pytest.raises(LanguageError) as caught:
        jenkins(text)
    start, end = caught.value.span
    assert (caught.value.code, text[start:end]) == (code, part)


def test_a_hash_without_an_identity_is_refused():
    with pytest.raises(LanguageError) as caught:
        jenkins("H * * * *", identity="")
    assert (caught.value.code, caught.value.hint) == ("NO_IDENTITY", "add --identity NAME, or identity=…")
