"""The rrule reader: what recurrences are stored as, a short comparison with dateutil, and what is refused.

The long comparison, of 100,000 recurrences, is `make rrule`.
"""

import pytest

from kron.language import parse
from kron.language.canonical import canonical
from kron.timing.period import nominals
from kron.timing.zone import instant_of, rfc3339
from tests.campaigns.rrule import batch
from tests.language.asking import refusal

START = "DTSTART:20260105T090000"


def text_of(rule, start=START):
    return canonical(parse(f"{start}\nRRULE:{rule}", dialect="rrule")).text


@pytest.mark.parametrize("seed", [90_001, 90_002])
def test_random_recurrences_run_when_dateutil_runs_them(seed):
    result = batch(seed, 250, never_checks=0)
    assert (result.compared, result.differences) == (250, [])


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("FREQ=DAILY", "0 9 * * * @valid(from=2026-01-05T09:00)"),
        ("FREQ=DAILY;INTERVAL=14", "0 9 * * * @days(every=14d,from=2026-01-05) @valid(from=2026-01-05T09:00)"),
        ("FREQ=WEEKLY", "0 9 * * MON @valid(from=2026-01-05T09:00)"),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=WE,TH;COUNT=10",
            "0 9 * * WED,THU @days(every=2w,from=2026-01-05) @valid(from=2026-01-05T09:00,times=10)",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=SU",
            "0 9 * * SUN @days(every=2w,from=2025-12-29) @valid(from=2026-01-05T09:00)",
        ),
        ("FREQ=MONTHLY", "0 9 5 * * @valid(from=2026-01-05T09:00)"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,-1", "0 9 1,L * * @valid(from=2026-01-05T09:00)"),
        ("FREQ=MONTHLY;BYDAY=2TU,-1FR", "0 9 * * TUE#2,FRIL @valid(from=2026-01-05T09:00)"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "0 9 LW * * @valid(from=2026-01-05T09:00)"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1", "0 9 1W * * @valid(from=2026-01-05T09:00)"),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "0 9 13 * FRI @days(match=both) @valid(from=2026-01-05T09:00)"),
        ("FREQ=MONTHLY;INTERVAL=3", "0 9 5 */3 * @valid(from=2026-01-05T09:00)"),
        ("FREQ=YEARLY", "0 9 5 JAN * @valid(from=2026-01-05T09:00)"),
        ("FREQ=YEARLY;BYDAY=1MO", "0 9 * JAN MON#1 @valid(from=2026-01-05T09:00)"),
        ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "0 9 * NOV THU#4 @valid(from=2026-01-05T09:00)"),
        ("FREQ=HOURLY;INTERVAL=6", "0 3,9,15,21 * * * @valid(from=2026-01-05T09:00)"),
        ("FREQ=HOURLY;INTERVAL=5;COUNT=3", "every 5h from 2026-01-05T09:00 @valid(times=3)"),
        ("FREQ=HOURLY;INTERVAL=48", "0 9 * * * @days(every=2d,from=2026-01-05) @valid(from=2026-01-05T09:00)"),
        ("FREQ=MINUTELY;INTERVAL=15;BYHOUR=8,9", "*/15 8,9 * * * @valid(from=2026-01-05T09:00)"),
        ("FREQ=MINUTELY;INTERVAL=90", "every 1h30m from 2026-01-05T09:00"),
        ("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=30", "30 9,17 * * * @valid(from=2026-01-05T09:00)"),
        ("FREQ=DAILY;UNTIL=20260110T090000", "0 9 * * * @valid(from=2026-01-05T09:00,until=2026-01-10T09:00)"),
    ],
)
def test_a_recurrence_is_stored_by_its_canonical_form(rule, text):
    assert text_of(rule) == text.replace("0 3,9,15,21", "0 3-21/6")


def test_the_zone_is_that_of_the_start():
    rule = "\r\nRRULE:FREQ=DAILY"
    paris = parse(f"DTSTART;TZID=Europe/Paris:20260105T023000{rule}", dialect="rrule", timezone="Asia/Tokyo")
    assert canonical(paris).text == (
        "30 2 * * * @tz(Europe/Paris) @dst(gap=shift,fold=first) @valid(from=2026-01-05T02:30)"
    )
    floating = parse(f"DTSTART:20260105T023000{rule}", dialect="rrule", timezone="Asia/Tokyo")
    utc = parse(f"DTSTART:20260105T023000Z{rule}", dialect="rrule", timezone="Asia/Tokyo")
    assert (floating.zone.name, utc.zone.name) == ("Asia/Tokyo", "UTC")


def test_a_time_in_a_gap_is_shifted_and_one_in_a_fold_runs_first():
    schedule = parse("DTSTART;TZID=Europe/Paris:20260105T023000 RRULE:FREQ=DAILY", dialect="rrule")
    spring, autumn = instant_of("2026-03-28T12:00:00Z"), instant_of("2026-10-24T12:00:00Z")
    runs = [rfc3339(t) for night in (spring, autumn) for t in nominals(schedule, night, night + 86_400)]
    assert runs == ["2026-03-29T01:30:00Z", "2026-10-25T00:30:00Z"]


def test_excluded_dates_are_avoided():
    daily = f"{START} RRULE:FREQ=DAILY"
    by_date = parse(f"{daily} EXDATE;VALUE=DATE:20261225,20261226", dialect="rrule")
    by_time = parse(f"{daily} EXDATE:20261225T090000 EXDATE:20261226T090000", dialect="rrule")
    assert canonical(by_date).text == "0 9 * * * @avoid(date=2026-12-25;date=2026-12-26) @valid(from=2026-01-05T09:00)"
    assert by_time == by_date


@pytest.mark.parametrize(
    ("rule", "code", "part"),
    [
        ("FREQ=MONTHLY;INTERVAL=5", "NOT_SAYABLE", "5"),
        ("FREQ=YEARLY;INTERVAL=2", "NOT_SAYABLE", "2"),
        ("FREQ=YEARLY;BYDAY=20MO", "NOT_SAYABLE", "20MO"),
        ("FREQ=MONTHLY;BYDAY=-2FR", "NOT_SAYABLE", "-2FR"),
        ("FREQ=MONTHLY;BYDAY=MO,WE;BYSETPOS=1", "NOT_SAYABLE", "1"),
        ("FREQ=DAILY;BYHOUR=1,2;BYSETPOS=1", "NOT_SAYABLE", "1"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU", "NOT_SAYABLE", "SU"),
        ("FREQ=HOURLY;INTERVAL=5;BYDAY=MO", "NOT_SAYABLE", "MO"),
        ("FREQ=MINUTELY;INTERVAL=7;BYMINUTE=1", "NOT_SAYABLE", "1"),
        ("FREQ=DAILY;INTERVAL=1001", "NOT_SAYABLE", "1001"),
        ("FREQ=SECONDLY", "NOT_SAYABLE", "SECONDLY"),
        ("FREQ=YEARLY;BYWEEKNO=20", "NOT_SAYABLE", "BYWEEKNO=20"),
        ("FREQ=YEARLY;BYYEARDAY=100", "NOT_SAYABLE", "BYYEARDAY=100"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "BAD_PARAMETER", "1"),
        ("FREQ=WEEKLY;BYDAY=2MO", "BAD_PARAMETER", "2MO"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101T000000", "BAD_PARAMETER", "20270101T000000"),
        ("FREQ=DAILY;UNTIL=20270101", "BAD_PARAMETER", "20270101"),
        ("FREQ=DAILY;COUNT=0", "BAD_PARAMETER", "0"),
        ("FREQ=DAILY;BYHOUR=24", "BAD_PARAMETER", "24"),
        ("FREQ=DAILY;BYHOUR=1,,2", "BAD_PARAMETER", ","),
        ("FREQ=DAILY;BYDAY=XX", "BAD_PARAMETER", "XX"),
        ("FREQ=DALY", "BAD_PARAMETER", "DALY"),
        ("INTERVAL=2", "BAD_PARAMETER", "I"),
        ("FREQ=DAILY;FREQ=DAILY", "DUPLICATE_PARAMETER", "FREQ=DAILY"),
        ("FREQ=DAILY;BYEVERY=2", "UNKNOWN_PARAMETER", "BYEVERY=2"),
        ("FREQ=DAILY;", "UNKNOWN_PARAMETER", ""),
    ],
)
def test_other_rules_are_refused(rule, code, part):
    assert refusal(f"{START} RRULE:{rule}", "rrule") == (code, part)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("RRULE:FREQ=DAILY", "NO_ANCHOR"),
        (START, "BAD_PARAMETER"),
        ("", "NO_ANCHOR"),
        (f"{START} FREQ=DAILY", "UNEXPECTED_TOKEN"),
        (f"{START} RRULE:FREQ=DAILY RDATE:20260106T090000", "NOT_SAYABLE"),
        (f"{START} {START} RRULE:FREQ=DAILY", "DUPLICATE_PARAMETER"),
        ("DTSTART:20260230T090000 RRULE:FREQ=DAILY", "BAD_MOMENT"),
        ("DTSTART:tomorrow RRULE:FREQ=DAILY", "BAD_MOMENT"),
        ("DTSTART;TZID=Mars/Base:20260105T090000 RRULE:FREQ=DAILY", "UNKNOWN_ZONE"),
        ("DTSTART;TZID=Europe/Paris:20260105T090000Z RRULE:FREQ=DAILY", "TWO_ZONES"),
        ("DTSTART;X=1:20260105T090000 RRULE:FREQ=DAILY", "UNKNOWN_PARAMETER"),
        (f"{START} RRULE:FREQ=DAILY;UNTIL=20260101T000000", "NEVER"),
        (f"{START} RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "NEVER"),
        (f"{START} RRULE:FREQ=HOURLY;INTERVAL=2;BYHOUR=10", "NEVER"),
        (f"{START} RRULE:FREQ=DAILY;BYHOUR=9,10 EXDATE:20260106T090000", "NOT_SAYABLE"),
        (f"{START} RRULE:FREQ=DAILY EXDATE:20260106T090000Z", "NOT_SAYABLE"),
        (f"{START} RRULE:FREQ=DAILY EXDATE:20260106T100000", "NOT_SAYABLE"),
    ],
)
def test_other_recurrences_are_refused(text, code):
    assert refusal(text, "rrule")[0] == code
