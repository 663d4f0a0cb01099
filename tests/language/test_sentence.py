"""Sentences as schedules, and the cadence that no cron line keeps."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from kron import KronError, decide, describe, last_period, parse, periods, unparse
from kron.language.canonical import canonical, to_posix
from kron.language.sentences.pool import POOL
from kron.language.sentences.read import read_sentence
from kron.language.sentences.scatter import seed_of
from tests.language.scatter_oracle import stretch_cron

WHO = "octo/site/.github/workflows/report.md"
START = datetime(2026, 1, 1, tzinfo=UTC)


def runs(text, cadence, count, identity=WHO):
    schedule = parse(text, dialect="fuzzy", identity=identity, cadence=cadence)
    return [period.time for period in islice(periods(schedule, START), count)]


def gaps(text, cadence, count=60):
    return {(after - before).total_seconds() / 86_400 for before, after in pairwise(runs(text, cadence, count))}


def test_a_sentence_is_a_schedule_like_any_other():
    schedule = parse("daily around 14:00", dialect="fuzzy", identity=WHO)
    expected = stretch_cron("FUZZY:DAILY_AROUND:14:0 * * *", WHO)
    assert unparse(schedule) == expected
    assert schedule == parse(expected, dialect="kron")


@pytest.mark.parametrize(
    ("ids", "text", "days"),
    [
        pytest.param(None, text, days, marks=[pytest.mark.req(*ids.split())] if ids else [], id=text)
        for ids, text, days in [
            ("FUZZY-3.5.1-CADENCE", "bi-weekly", 14),
            ("FUZZY-3.5.2-CADENCE", "tri-weekly", 21),
            ("", "every 1 day", 1),
            ("", "every 2 days", 2),
            ("", "every 31 days", 31),
            ("", "every 1 week", 7),
            ("", "every 3 weeks", 21),
        ]
    ],
)
def test_the_exact_cadence_counts_days_across_months_and_years(ids, text, days):
    assert gaps(text, "exact") == {days}
    phases = {runs(text, "exact", 1, f"a/b/{n}")[0].toordinal() % days for n in range(40 * days)}
    sunday = START.replace(day=4).toordinal() % 7
    on_sundays = text in ("every 1 week", "every 3 weeks")
    allowed = {day for day in range(days) if not on_sundays or day % 7 == sunday}
    assert phases == allowed  # the identity chooses the day, so not everyone runs on the same


def test_cron_cannot_count_across_months_and_plus_can():
    assert gaps("bi-weekly", "cron", 40) == {14, 2, 3}
    schedule = parse("bi-weekly", dialect="fuzzy", identity=WHO, cadence="exact")
    text, dialect = canonical(schedule)
    assert dialect == "plus"
    assert "@days(every=14d,from=1970-01-" in text
    assert parse(text, dialect=dialect) == schedule
    with pytest.raises(ValueError, match="days"):
        to_posix(schedule.cron)
    assert describe(schedule).endswith("every 14 days, UTC.")


def test_the_exact_cadence_keeps_the_time_of_the_pool_and_the_phase_of_the_hash():
    first = runs("tri-weekly", "exact", 1)[0]
    assert (first.hour, first.minute) == POOL[seed_of(WHO) % len(POOL)]
    assert int(first.timestamp()) // 86_400 % 21 == seed_of(WHO) % 21


def test_weeks_are_on_sundays_at_midnight():
    assert {(t.strftime("%a"), t.hour, t.minute) for t in runs("every 2 weeks", "exact", 20)} == {("Sun", 0, 0)}


def test_the_last_period_of_a_cadence_is_found_backwards_too():
    schedule = parse("bi-weekly", dialect="fuzzy", identity=WHO, cadence="exact")
    for first, second in pairwise(islice(periods(schedule, START), 10)):
        assert last_period(schedule, second.time - timedelta(seconds=1)) == first
        assert last_period(schedule, second.time) == second
        assert decide(schedule, second, WHO).chosen == second.nominal


def test_other_sentences_are_the_same_in_either_cadence():
    for text in ("daily", "weekly on monday", "hourly", "every 5 minutes"):
        assert parse(text, dialect="fuzzy", identity=WHO) == parse(text, dialect="fuzzy", identity=WHO, cadence="exact")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"timezone": "Europe/Paris", "identity": WHO}, "SENTENCE_ZONE"),
        ({"cadence": "precise", "identity": WHO}, "UNKNOWN_CADENCE"),
        ({}, "EMPTY_IDENTIFIER"),
    ],
)
def test_what_a_sentence_cannot_be_read_with(options, code):
    with pytest.raises(KronError) as caught:
        parse("daily", dialect="fuzzy", **options)
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("daily", False),
        ("daily around 9am", False),
        ("daily around 9am est", True),
        ("daily around 9am utc+2", True),
        ("daily between 9am and 5pm jst", True),
        ("weekly on monday around 9am pt", True),
        ("weekly on monday", False),
        ("every 2 hours", False),
    ],
)
def test_sentence_with_an_offset_says_so(text, offset):
    assert read_sentence(text).offset is offset
