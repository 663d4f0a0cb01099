"""Source texts: every reader of definitions keeps what was written, and it means the schedule that is stored."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import KronError, Scheduler, parse
from kron.apps.declarative.registration import read_registrations
from kron.apps.service.schemas.definition import job_of
from kron.apps.service.schemas.requests import Definition
from kron.language.canonical import canonical, unparse
from kron.language.krontab import read_table
from kron.language.manifest import define
from kron.language.service import seconds_first, seconds_last
from kron.language.source import names_zone, shown_source, source_of
from kron.stores.codec import read_state
from kron.stores.job_codec import write_job
from kron.timing.job import Job, Source
from kron.timing.schedule.policy import KRON
from kron.timing.zone import zone
from tests.language.definitions import DAILY, IDENTITIES, ZONES, fields, five, kron_texts, six
from tests.service.http import config

HOOK = "https://example.org/"


def meaning(source: Source, identity: str):
    """The schedule that a source text means, without a policy."""
    home = source.zone or "UTC"
    if source.dialect == "fuzzy":  # a sentence is in UTC, unless its zone is given next to it
        return replace(parse(source.text, dialect="fuzzy", identity=identity), zone=zone(home))
    return replace(parse(source.text, dialect=source.dialect, timezone=home), policy=KRON)


def stored(job: Job) -> Job:
    return read_state((job.identity, *write_job(job), 1, 0, 0, 0, 0, None, None, None, 0, 0)).job


def check(job: Job, text: str, dialect: str) -> None:
    """The job keeps the text; the text means what the canonical text means; and a store gives both back."""
    assert (job.source.text, job.source.dialect) == (text, dialect)
    schedule = replace(job.schedule, policy=KRON)
    assert meaning(job.source, job.identity) == schedule
    said = canonical(job.schedule)
    assert parse(said.text, dialect=said.dialect, timezone=job.schedule.zone.name) == schedule
    assert stored(job) == job


def embedded(text: str, identity: str, **options) -> Job:
    scheduler = Scheduler("memory:")
    scheduler.add(print, text, name=identity, **options)
    return scheduler.declared[identity].job


@settings(deadline=None)
@given(kron_texts, IDENTITIES)
def test_source_of_a_krontab_line_means_its_schedule(text, name):
    (job,) = read_table(f"{text}  name={name} command=true", "/etc/krontab").jobs
    check(job, text, "kron")


@settings(deadline=None)
@given(fields, IDENTITIES)
def test_source_of_named_fields_means_their_schedule(given_fields, identity):
    job = define({**given_fields, "identity": identity})
    assert job.source.text.startswith(given_fields["schedule"])
    assert job.source.zone == given_fields.get("timezone", "UTC")
    assert "@policy" not in job.source.text
    check(job, job.source.text, "kron")


@settings(deadline=None)
@given(five | six | st.sampled_from(DAILY), ZONES, IDENTITIES, st.sampled_from(["posix", "service", "kron", "fuzzy"]))
def test_source_of_an_embedded_job_means_its_schedule(text, home, identity, dialect):
    try:
        job = embedded(text, identity, dialect=dialect, zone=home)
    except KronError:
        return
    check(job, text, dialect)
    assert job.source.zone == home
    assert job.description == ""


@settings(deadline=None)
@given(
    five | six | kron_texts | st.sampled_from(DAILY), st.none() | ZONES, IDENTITIES, st.sampled_from(["first", "last"])
)
def test_source_of_a_request_means_its_schedule(text, home, identity, position):
    settings_of = config(cron_seconds_position=position)
    for dialect in ("posix", "service", "kron", "fuzzy"):
        asked = Definition(schedule=text, dialect=dialect, timezone=home, target=HOOK)
        try:
            job, _ = job_of(asked, identity, settings_of, 0)
        except KronError:
            continue
        moved = dialect == "service" and position == "last"
        check(job, seconds_first(text) if moved else text, dialect)


def test_source_of_a_registration_is_its_expression():
    (task,) = read_registrations([("a", "0  9 * * 1-5", print, timedelta(0))], "Europe/Paris", 0)
    job = task.job("a")
    check(job, "0  9 * * 1-5", "posix")
    assert (job.source.zone, job.description) == ("Europe/Paris", "")


def test_zone_in_the_text_is_not_repeated():
    paris = parse("0 9 * * * @tz(Europe/Paris)", dialect="kron")
    assert source_of("0 9 * * * @tz(Europe/Paris)", "kron", paris).zone is None
    assert source_of("0 9 * * *", "service", paris).zone == "Europe/Paris"
    assert not names_zone('0 9 * * * @seed(stable,salt="@tz(UTC)")', "kron")


@pytest.mark.parametrize(
    ("text", "dialect", "shown"),
    [
        ("0 9 * * 1-5", "posix", Source("0 9 * * MON-FRI @tz(Europe/Paris)", "kron", None)),
        ("0 0 9 * * *", "service", Source("0 9 * * * @tz(Europe/Paris)", "kron", None)),
        ("30 0 9 * * *", "service", Source("30 0 9 * * *", "service", "Europe/Paris")),
    ],
)
def test_schedule_without_a_source_is_shown_by_its_canonical_text(text, dialect, shown):
    job = Job("a", parse(text, dialect=dialect, timezone="Europe/Paris"))
    assert shown_source(job) == shown
    assert canonical(job.schedule).text == unparse(job.schedule)


@given(five | six, st.lists(st.text(" \t", min_size=1, max_size=3), min_size=5, max_size=5), st.text(" ", max_size=2))
def test_seconds_move_to_the_first_field_and_back(text, gaps, end):
    words = text.split(" ")
    spaced = end + words[0] + "".join(gap + word for gap, word in zip(gaps, words[1:], strict=False)) + end
    assert seconds_last(seconds_first(spaced)) == spaced
    assert seconds_first(spaced).split() == ([words[5], *words[:5]] if len(words) == 6 else words)


def test_another_spelling_is_another_definition_and_none_is_any():
    schedule = parse("0 9 * * 1-5", dialect="posix")
    one, other = Source("0 9 * * 1-5", "posix", "UTC"), Source("0 9 * * MON-FRI", "kron", "UTC")
    job, spelled, bare = Job("a", schedule, source=one), Job("a", schedule, source=other), Job("a", schedule)
    assert not job.same_definition(spelled)
    assert job.same_definition(replace(job))
    assert job.same_definition(bare)
    assert bare.same_definition(job)
    assert not bare.same_definition(replace(job, target="test:it"))


def test_a_text_of_another_scheduler_is_kept_by_its_canonical_text():
    schedule = parse("0 0 9 LW * ?", dialect="quartz", timezone="Europe/Paris")
    canonical = "0 9 LW * * @tz(Europe/Paris) @dst(fold=last)"
    assert source_of("0 0 9 LW * ?", "quartz", schedule) == Source(canonical, "plus", None)
