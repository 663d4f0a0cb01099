"""The table of dialects, texts that name their dialect, and `auto`."""

import json
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import Scheduler
from kron.apps.service.config import Config
from kron.apps.service.routes.schedules import _merged
from kron.apps.service.schemas.definition import described, job_of
from kron.apps.service.schemas.requests import Definition, Patch
from kron.errors import KronError, LanguageError
from kron.language import DIALECTS, opinion, parse
from kron.language.auto import read_by_all
from kron.language.dialect import TABLE, Dialect, DialectName, split_name
from kron.language.door import COMMAND_LINE
from kron.language.krontab import read_table
from kron.language.manifest import define
from kron.language.options import Options
from kron.language.reading import read
from kron.language.source import source_of
from kron.testing import assert_fires
from tests.language.definitions import five, six

HOOK = "https://example.com/hook"
CONFIG = Config(webhook_secret="s" * 32)
SENTENCE = "daily around 14:00"


def add_dialect(monkeypatch, name, read_schedule, **facts):
    """Add a dialect to the table for one test."""
    monkeypatch.setitem(TABLE, name, Dialect(name, "for a test", lambda: read_schedule, **facts))
    opinion._opinion.cache_clear()


EXAMPLES = {
    "fuzzy": SENTENCE,
    "quartz": "0 0 9 ? * 2-6",
    "aws": "cron(0 9 ? * 2-6 *)",
    "rrule": "DTSTART:20260101T090000Z RRULE:FREQ=DAILY",
    "placeholder": "FUZZY:DAILY * * *",
}


def code(call, *args, **options):
    with pytest.raises(KronError) as caught:
        call(*args, **options)
    return caught.value.code


def test_table_is_complete():
    assert tuple(TABLE) == DIALECTS == get_args(DialectName)
    for dialect in TABLE.values():
        assert callable(dialect.load())
        assert len(dialect.summary) <= 60


@settings(deadline=None)
@given(five | six, st.sampled_from(DIALECTS))
def test_table_reads_as_parse_does(text, dialect):
    def outcome(call):
        try:
            return call()
        except KronError as error:
            return error.code, getattr(error, "span", None), error.hint

    options = Options(identity="a")
    assert outcome(lambda: parse(text, dialect=dialect, identity="a")) == outcome(
        lambda: read(text, dialect, options).schedule
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_that_names_its_dialect_means_the_same(dialect):
    text = EXAMPLES.get(dialect, "0 9 * * 1-5")
    schedule = parse(text, dialect=dialect, identity="a")
    assert parse(f"{dialect}: {text}", identity="a") == schedule
    assert parse(f" {dialect}:\t{text}", dialect=dialect, identity="a") == schedule
    assert read(f"{dialect}: {text}", None, Options(identity="a")) == (schedule, text, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", DIALECTS)
def test_two_dialects_are_refused(dialect, name):
    if name != dialect:
        with pytest.raises(LanguageError) as caught:
            parse(f"{name}: 0 9 * * *", dialect=dialect, identity="a")
        assert caught.value.code == "TWO_DIALECTS"
        assert name in caught.value.message
        assert dialect in caught.value.message


@pytest.mark.parametrize("text", ["FUZZY:DAILY", "kron:0 9 * * *", "0 9 * * *", "cron: 0 9 * * *", "Kron: 0 9 * * *"])
def test_text_without_a_name_is_not_split(text):
    assert split_name(text) is None


def test_text_needs_a_dialect():
    assert code(parse, "0 9 * * *") == "NO_DIALECT"
    assert code(parse, "cron: 0 9 * * *") == "UNKNOWN_DIALECT"


def test_place_of_an_error_is_in_the_whole_text():
    with pytest.raises(LanguageError) as caught:
        parse("kron: 0 25 * * *")
    assert (caught.value.place.text, caught.value.span) == ("kron: 0 25 * * *", (8, 10))


def test_krontab_line_can_name_a_dialect():
    lines = f"fuzzy: {SENTENCE}  name=a command=b\nservice: */10 * * * * * name=c command=d\n"
    table = read_table(lines + "kron: 0 9 * * * @tz(Europe/Paris) name=e command=f", "/etc/krontab")
    assert table.errors == ()
    sources = [(job.source.text, job.source.dialect, job.source.zone) for job in table.jobs]
    assert sources[:2] == [(SENTENCE, "fuzzy", "UTC"), ("*/10 * * * * *", "service", "UTC")]
    assert sources[2] == ("0 9 * * * @tz(Europe/Paris)", "kron", None)
    assert table.jobs[0].schedule == parse(SENTENCE, dialect="fuzzy", identity="/etc/krontab:a")


def test_krontab_error_points_into_the_line():
    (error,) = read_table("fuzzy: daily around 25:00 name=a command=b", "/etc/krontab").errors
    assert (error.code, error.place.text[slice(*error.span)]) == ("HOUR_OUT_OF_RANGE", "25:00")


def test_job_as_fields_can_name_a_dialect():
    job = define({"identity": "a", "schedule": f"fuzzy: {SENTENCE}", "policy": {"deadline": "5m"}})
    assert job.source == source_of(SENTENCE, "fuzzy", job.schedule)
    assert job.schedule.policy.deadline == 300 * 10**9
    paris = define({"identity": "a", "schedule": "posix: 0 9 * * 1-5", "timezone": "Europe/Paris"})
    assert (paris.schedule.zone.name, paris.source.zone) == ("Europe/Paris", "Europe/Paris")
    named = define({"identity": "a", "schedule": "kron: 0 9 * * *", "window_duration": "1h"})
    assert named == define({"identity": "a", "schedule": "0 9 * * *", "window_duration": "1h"})
    assert code(define, {"identity": "a", "schedule": f"fuzzy: {SENTENCE}", "window_duration": "1h"}) == "BAD_FIELD"
    assert code(define, {"identity": "a", "schedule": "fuzzy: dialy"}) == "UNKNOWN_KEYWORD"


def test_decorator_text_can_name_a_dialect():
    s = Scheduler("memory:")

    @s.job("kron: 0 9 * * MON @tz(Europe/Paris)")
    def report():
        pass

    @s.job(f"fuzzy: {SENTENCE}", timezone="Asia/Tokyo")
    def sentence():
        pass

    first, second = s.declared["report"].job, s.declared["sentence"].job
    assert (first.source.text, first.source.dialect) == ("0 9 * * MON @tz(Europe/Paris)", "kron")
    assert (second.source.text, second.source.dialect, second.schedule.zone.name) == (SENTENCE, "fuzzy", "Asia/Tokyo")
    assert code(s.add, report, "kron: 0 9 * * *", dialect="posix") == "TWO_DIALECTS"


def test_http_schedule_can_name_a_dialect():
    job, _ = job_of(Definition(schedule=f"fuzzy: {SENTENCE}", target=HOOK), "a", CONFIG, 0)
    assert (job.source.text, job.source.dialect) == (SENTENCE, "fuzzy")
    again, _ = job_of(Definition(**{k: v for k, v in described(job, CONFIG).items() if v is not None}), "a", CONFIG, 0)
    assert again.source == job.source
    two = Definition(schedule=f"fuzzy: {SENTENCE}", dialect="service", target=HOOK)
    assert code(job_of, two, "a", CONFIG, 0) == "TWO_DIALECTS"


def test_http_patch_can_name_a_dialect():
    job, _ = job_of(Definition(schedule="0 9 * * *", target=HOOK), "a", CONFIG, 0)
    current = {name: value for name, value in described(job, CONFIG).items() if value is not None}
    merged = _merged({**current, "timezone": None}, Patch(schedule=f"fuzzy: {SENTENCE}"), "UTC")
    assert job_of(merged, "a", CONFIG, 0)[0].source.dialect == "fuzzy"
    two = _merged(current, Patch(schedule=f"fuzzy: {SENTENCE}", dialect="kron"), "UTC")
    assert code(job_of, two, "a", CONFIG, 0) == "TWO_DIALECTS"


def test_assertion_text_can_name_a_dialect():
    assert_fires("service: 0 30 9 * * *", ["2026-01-01 09:30"], after="2026-01-01 00:00")


def test_text_of_a_reader_is_stored_in_canonical_form(monkeypatch):
    add_dialect(monkeypatch, "reader", lambda text, options: parse("0 9 * * 1", dialect="kron"), stored=False)
    source = source_of("nine", "reader", parse("reader: nine"))
    assert (source.text, source.dialect) == ("0 9 * * MON", "kron")


def test_new_dialect_is_named_by_hints(monkeypatch):
    def read_other(text, options):
        if not text.startswith("other("):
            raise LookupError  # a fault of its own must not hide the error
        return parse("0 10 * * *", dialect="kron")

    text = "other(0 10 * * ? 2026)"
    assert "other" not in _hint(text).replace(text, "")
    add_dialect(monkeypatch, "other", read_other, stored=False)
    assert _hint(text).endswith('read as other this is "At 10:00 every day, UTC"; pass dialect="other"')
    assert _hint("0 25 * * *") == "use a value from 0 to 23"


def _hint(text):
    with pytest.raises(LanguageError) as caught:
        parse(text, dialect="kron")
    return caught.value.hint


def by_all(text):
    return read_by_all(text, Options(identity="a"), 1_767_225_600, default="kron", door=COMMAND_LINE)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [("0 9 * * 1-5", "kron"), ("0 9 * * 7", "service"), (SENTENCE, "fuzzy"), ("posix: 0 9 * * *", "posix")],
)
def test_auto_reads_what_all_read_alike(text, dialect):
    reading = by_all(text)
    assert reading.dialect == dialect
    assert reading.schedule == parse(reading.text, dialect=dialect, identity="a")


@settings(deadline=None)  # a loaded machine can pause a process for longer than any deadline
@given(five | six)
def test_auto_agrees_with_every_dialect_that_accepts(text):
    accepted = []
    for dialect in DIALECTS:
        try:
            accepted.append(parse(text, dialect=dialect, identity="a"))
        except KronError:
            continue
    try:
        reading = by_all(text)
    except LanguageError:
        return
    assert {schedule.cron for schedule in accepted} == {reading.schedule.cron}


def test_auto_refuses_what_dialects_read_differently():
    with pytest.raises(LanguageError) as caught:
        by_all("0 0 */2 * MON")
    error = caught.value
    assert error.code == "AMBIGUOUS"
    assert error.details["read_by"] == ["kron", "service", "plus", "vixie"]
    first, second = error.hint.split("\n")
    assert first.startswith('write "kron: 0 0 */2 * MON" for "')
    assert first.endswith(": 2026-01-03T00:00:00Z, 2026-01-05T00:00:00Z, 2026-01-07T00:00:00Z")
    assert second.startswith('write "vixie: 0 0 */2 * MON" for "')
    assert second.endswith(": 2026-01-05T00:00:00Z, 2026-01-19T00:00:00Z, 2026-02-09T00:00:00Z")
    assert by_all("kron: 0 0 */2 * MON").dialect == "kron"


def test_auto_gives_the_error_of_the_default_dialect():
    assert code(by_all, "0 25 * * *") == "OUT_OF_RANGE"


def test_details_are_json():
    for text in ("0 9 * * 7", "@every 5m"):
        with pytest.raises(LanguageError) as caught:
            parse(text, dialect="kron")
        json.dumps(caught.value.details)
