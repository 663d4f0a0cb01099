"""Every store keeps the source text of a definition, of its revisions, and shows it in its views."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from kron import parse
from kron.engine.registrar import Actor, Registrar
from kron.language.source import source_of
from kron.rules.edit import defined
from kron.rules.pause import NO_ACTOR
from kron.rules.update import ScheduleUpdate
from kron.stores import job_codec
from kron.timing.job import Job
from kron.timing.zone import zone
from tests.forms import FOREIGN_FORMS, FORMS
from tests.stores.making import NOW, a_case, a_job, a_revision, now

TEXTS = [
    ("0 9  * * 1-5", "posix", "Europe/Paris"),
    ("*/5 * * * 7", "service", "UTC"),
    ("30 0 12 * * *", "service", "Asia/Tokyo"),
    ("0 0 30 2 *", "posix", "UTC"),
    ("0 9 * * mon @tz(Europe/Paris) @win(after,3h)", "kron", None),
    ("daily around 14:00", "fuzzy", "UTC"),
    ("daily around 14:00", "fuzzy", "Europe/Paris"),
    *((form.text, "plus", form.zone) for form in FORMS),
]


def made(text, dialect, timezone, identity="a"):
    if dialect == "fuzzy":
        schedule = replace(parse(text, dialect=dialect, identity=identity), zone=zone(timezone))
    else:
        schedule = parse(text, dialect=dialect, timezone=timezone or "UTC")
    job = Job(identity, schedule, target="test:it", source=source_of(text, dialect, schedule))
    assert job.source.zone == timezone
    return job


def put(store, job, note=""):
    return store.runner.run(Registrar(store.store).upsert(job, Actor("me", note)))


@pytest.mark.parametrize(("text", "dialect", "timezone"), TEXTS)
def test_source_of_every_dialect_comes_back(store, text, dialect, timezone):
    job = made(text, dialect, timezone)
    put(store, job)
    assert now(store).job == job
    (revision,) = store.revisions("a")
    assert revision.job == job


@pytest.mark.parametrize(("text", "dialect", "canonical"), FOREIGN_FORMS)
def test_text_of_another_scheduler_is_kept_by_its_canonical_text(store, text, dialect, canonical):
    schedule = parse(text, dialect=dialect)
    job = Job("a", schedule, target="test:it", source=source_of(text, dialect, schedule))
    put(store, job)
    assert now(store).job == job
    assert now(store).job.source.dialect in ("kron", "plus")
    assert canonical is None or now(store).job.source.text == canonical


def test_another_spelling_is_a_revision_and_history_has_each(store):
    spellings = [("0 9 * * 1-5", "posix"), ("0 9 * * 1,2,3,4,5", "posix"), ("0 9 * * MON-FRI", "kron")]
    for number, (text, dialect) in enumerate(spellings, 1):
        job = made(text, dialect, "UTC")
        assert put(store, job).revision == number
        assert put(store, job).revision == number, "the same text again is no change"
    assert [(each.job.source.text, each.job.source.dialect) for each in store.revisions("a")] == spellings
    assert len({each.job.schedule for each in store.revisions("a")}) == 1
    assert put(store, replace(job, source=None)).revision == 3, "a definition without a text keeps the text"
    assert now(store).job == job


def test_text_for_a_definition_without_one_is_no_revision(store):
    """Otherwise the first start after an upgrade could write a revision of every job."""
    bare = replace(made("0 9 * * 1-5", "posix", "UTC"), source=None)
    put(store, bare)
    assert put(store, made("0 9 * * 1-5", "posix", "UTC")).revision == 1
    assert now(store).job.source is None
    assert put(store, made("0 9 * * 1-4", "posix", "UTC")).job.source.text == "0 9 * * 1-4"


def test_source_changes_with_the_revision_only(store):
    put(store, made("0 9 * * 1-5", "posix", "UTC"))
    case = now(store)
    other = case._replace(job=made("0 9 * * MON-FRI", "kron", "UTC"))
    assert store.commit([ScheduleUpdate(case, other)], NOW) == [False]


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
def test_row_of_a_definition_is_written_once_per_commit(store, monkeypatch):
    counted = []
    unstorable = job_codec._unstorable
    monkeypatch.setattr(job_codec, "_unstorable", lambda job, row: counted.append(job.identity) or unstorable(job, row))
    cases = [a_case(name) for name in "abc"]
    assert all(store.commit([ScheduleUpdate(None, case, revision=a_revision(case)) for case in cases], NOW))
    assert sorted(counted) == ["a", "b", "c"]
    counted.clear()
    edits = [defined(a_job(case.identity, "*/5 * * * *"), case, NOW, NO_ACTOR) for case in store.get(["a", "b"])]
    assert all(store.commit(edits, NOW))
    assert sorted(counted) == ["a", "b"]


VIEWED = [
    (("0 9 * * 1-5", "posix", "Europe/Paris"), "0 9 * * MON-FRI @tz(Europe/Paris)"),
    (("0 9 * * * @tz(Europe/Paris)", "kron", None), "0 9 * * * @tz(Europe/Paris)"),
    (("30 0 12 * * *", "service", "Europe/Paris"), "30 0 12 * * *"),
]


@pytest.mark.parametrize(("written", "canonical"), VIEWED)
def test_view_shows_the_source_next_to_the_canonical_text(postgres, sqlite, sql, folder, written, canonical):
    for store in (postgres, sqlite):
        put(store, made(*written))
        put(store, replace(made(*written, identity="b"), source=None))
    names = ("cron_expr", "dialect", "timezone", "canonical")
    (found,) = sql("SELECT jsonb_agg(to_jsonb(v) ORDER BY v.schedule_id) FROM schedules v")
    rows = [found[0] if isinstance(found[0], list) else json.loads(found[0])]
    with closing(sqlite3.connect(folder / "kron.db")) as file:
        file.row_factory = sqlite3.Row
        rows.append([dict(row) for row in file.execute("SELECT * FROM service_schedules ORDER BY schedule_id")])
    for with_text, without in rows:
        assert tuple(with_text[name] for name in names) == (*written[:2], "Europe/Paris", canonical)
        assert without["cron_expr"] == without["canonical"] == canonical
