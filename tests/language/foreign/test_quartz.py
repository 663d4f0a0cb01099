"""The quartz reader: its day fields, years, wrapped ranges, and what it refuses."""

from itertools import islice

import pytest

from kron.errors import LanguageError
from kron.language import parse
from kron.language.canonical import canonical
from kron.timing.period import nominals
from kron.timing.zone import instant_of, rfc3339
from tests.language.asking import refusal


def text_of(text, timezone="UTC"):
    return canonical(parse(text, dialect="quartz", timezone=timezone)).text


@pytest.mark.parametrize(
    ("text", "canonical_text"),
    [
        ("0 0 22-2 ? * FRI-MON", "0 0-2,22,23 * * SUN,MON,FRI,SAT"),
        ("0 50-10/10 0 1 NOV-FEB ?", "0,10,50 0 1 JAN,FEB,NOV,DEC *"),
        ("0 0 0 28-3 * ?", "0 0 1-3,28-31 * *"),
        ("0 0 0 ? * 2-6", "0 0 * * MON-FRI"),
        ("0 0 0 ? * 1", "0 0 * * SUN"),
        ("0 0 0 ? * L", "0 0 * * SAT"),
        ("0 0 0 ? * fril", "0 0 * * FRIL"),
        ("0 0 0 ? * MON#1,6#5", "0 0 * * MON#1,FRI#5"),
        ("0 0 12 1/1 * ? *", "0 12 * * *"),
        ("0 /15 * * * ?", "*/15 * * * *"),
        ("*/20 * * * * ?", "*/20 * * * * *"),
        ("0 0 0 L,15,1W * ?", "0 0 15,L,1W * *"),
        ("0 0 0 1 1 ? 2027", "0 0 1 JAN * @valid(from=2027-01-01T00:00,until=2027-12-31T23:59:59)"),
    ],
)
def test_a_text_is_stored_by_its_canonical_form(text, canonical_text):
    assert text_of(text) == canonical_text


def test_a_time_that_comes_twice_runs_the_second_time_only():
    schedule = parse("0 30 2 * * ?", dialect="quartz", timezone="Europe/Paris")
    assert canonical(schedule) == ("30 2 * * * @tz(Europe/Paris) @dst(fold=last)", "plus")
    after = instant_of("2026-10-24T12:00:00Z")
    runs = [rfc3339(nominal) for nominal in islice(nominals(schedule, after), 2)]
    assert runs == ["2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]


def test_a_step_that_quartz_ignores_has_both_meanings_in_its_hint():
    with pytest.raises(LanguageError) as caught:
        parse("0 0 12 ? * MON-FRI/2", dialect="quartz")
    assert caught.value.hint.startswith("write MON,WED,FRI, or MON-FRI for what Quartz runs")


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("0 0 12 * * *", "QUESTION_MARK", "* * *"),
        ("0 0 12 ? * ?", "QUESTION_MARK", "? * ?"),
        ("0 0 12 1 * MON", "QUESTION_MARK", "1 * MON"),
        ("0 12 * * *", "FIELD_COUNT", ""),
        ("0 0 12 * * ? * *", "FIELD_COUNT", "*"),
        ("0 0 12 * * ? 2026,2027", "NOT_SAYABLE", "2026,2027"),
        ("0 0 12 * * ? 2026/2", "NOT_SAYABLE", "2026/2"),
        ("0 0 12 * * ? 2027-2026", "REVERSED_RANGE", "2027-2026"),
        ("0 0 12 * * ? 2100", "OUT_OF_RANGE", "2100"),
        ("0 0 12 5C * ?", "NOT_SAYABLE", "5C"),
        ("0 0 12 L-3W * ?", "NOT_SAYABLE", "L-3W"),
        ("0 0 12 ? * 0", "OUT_OF_RANGE", "0"),
        ("0 0 12 ? * MON/2", "STEP_NEEDS_RANGE", "MON/2"),
        ("0 0 12 ? * MON-FRI/2", "NOT_SAYABLE", "MON-FRI/2"),
        ("0 0 12 1 JAN-DEC/2 ?", "NOT_SAYABLE", "JAN-DEC/2"),
        ("0 0/90 * * * ?", "BAD_STEP", "0/90"),
        ("0 */60 * * * ?", "BAD_STEP", "*/60"),
        ("0 0 */24 * * ?", "BAD_STEP", "*/24"),
        ("0 0 12 ? * 6#6", "NTH_RANGE", "6#6"),
        ("0 0 12 L,99 * ?", "OUT_OF_RANGE", "99"),
        ("0 0 12 *,5 * ?", "STAR_IN_LIST", "*"),
        ("0 ? 12 1 * ?", "QUARTZ", "?"),
        ("0 0 0 31 2 ?", "NEVER", "0 0 0 31 2 ?"),
        ("0 0 0 29 2 ? 2027", "NEVER", "0 0 0 29 2 ? 2027"),
        ("0 0 12 – * ?", "BAD_CHARACTER", "–"),
    ],
)
def test_other_texts_are_refused(text, code, part):
    assert refusal(text, "quartz") == (code, part)
