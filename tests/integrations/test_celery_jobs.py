"""Jobs of beat entries: the message that they publish, their policy, and what is refused."""

import asyncio
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.beat import BeatLazyFunc, ScheduleEntry
from celery.schedules import crontab, schedule

from kron import InvalidSetting, UsageError
from kron.engine.clock import ManualClock
from kron.engine.registrar import Registrar
from kron.integrations.celery.beat_worker import register
from kron.integrations.celery.entry_job import job_of, message_of
from kron.integrations.celery.settings import settings_of
from kron.stores.memory import MemoryStore
from kron.timing.schedule.policy import SECOND, Catchup


def app_of(name="proj", **conf):
    app = Celery(name, broker="memory://", set_as_current=False)
    app.conf.update(kron_store="sqlite:jobs.db", **conf)
    return app


def job(app=None, **fields):
    app = app or app_of()
    entry = ScheduleEntry(**{"name": "nightly", "task": "proj.send", "schedule": 30, "app": app, **fields})
    return job_of(entry, settings_of(app))


def test_job_has_the_message_of_its_entry():
    options = {"queue": "mail", "expires": 600, "priority": 3, "headers": {"team": "a"}}
    nightly = job(args=(1, ("a", "b")), kwargs={"to": ["x"]}, options=options)
    assert (nightly.identity, nightly.name, nightly.target) == (
        "celery/proj/nightly",
        "nightly",
        "celery+proj:proj.send",
    )
    assert message_of(nightly) == ("proj.send", [1, ["a", "b"]], {"to": ["x"]}, options)
    assert json.loads(nightly.payload)["options"]["expires"] == 600


def test_expiry_at_a_moment_is_kept():
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    assert message_of(job(options={"expires": moment})).options == {"expires": "2030-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(
    ("fields", "code", "part"),
    [
        ({"args": (BeatLazyFunc(datetime.now),)}, "BAD_ARGUMENTS", "args"),
        ({"kwargs": {"when": datetime(2030, 1, 1, tzinfo=UTC)}}, "BAD_ARGUMENTS", "kwargs"),
        ({"kwargs": {1: "a"}}, "BAD_ARGUMENTS", "kwargs"),
        ({"options": {"link": print}}, "BAD_OPTION", "options"),
        ({"options": {"task_id": "mine"}}, "BAD_OPTION", "task_id"),
        ({"name": "night\nly"}, "BAD_NAME", "name"),
    ],
)
def test_entry_that_cannot_be_stored_is_refused_by_name(fields, code, part):
    with pytest.raises(UsageError, match="night") as caught:
        job(**fields)
    assert caught.value.code == code
    assert part in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("conf", "zone"),
    [
        ({}, "UTC"),
        ({"timezone": "Europe/Paris"}, "Europe/Paris"),
        ({"timezone": ZoneInfo("Asia/Tokyo")}, "Asia/Tokyo"),
        ({"enable_utc": False}, "America/Lima"),
        ({"enable_utc": False, "timezone": "Europe/Paris"}, "Europe/Paris"),
    ],
)
def test_job_has_the_time_zone_of_celery(conf, zone, monkeypatch):
    monkeypatch.setenv("TZ", "America/Lima")
    assert job(app_of(**conf), schedule=crontab(minute=0, hour=9)).schedule.zone.name == zone


def test_default_policy_runs_every_missed_period():
    policy = job().schedule.policy
    assert (policy.catchup, policy.deadline, str(policy.overlap)) == (Catchup.ALL, None, "allow")


def test_catchup_and_starting_deadline_are_settings():
    app = app_of(kron_catchup="latest", beat_cron_starting_deadline=90)
    policy = job(app, schedule=crontab()).schedule.policy
    assert (policy.catchup, policy.catchup_limit, policy.deadline) == (Catchup.LATEST, 1, 90 * SECOND)
    assert job(app, schedule=schedule(timedelta(minutes=1))).schedule.policy.deadline is None


@pytest.mark.parametrize("main", [None, "__main__", ""])
def test_application_without_a_name_is_celery(main):
    assert settings_of(app_of(main)).prefix == "celery/celery/"


def test_name_of_the_application_can_be_set():
    settings = settings_of(app_of("proj", kron_name="Shop-1"))
    assert (settings.prefix, settings.scheme) == ("celery/Shop-1/", "celery+shop-1")


@pytest.mark.parametrize(
    ("conf", "word"),
    [
        ({"kron_catchup": "sometimes"}, "kron_catchup"),
        ({"kron_name": "a/b"}, "kron_name"),
        ({"kron_store": "mysql://x"}, "mysql"),
        ({"kron_store": "memory:"}, "memory:"),
    ],
)
def test_invalid_setting_is_refused(conf, word):
    app = app_of()
    app.conf.update(conf)
    with pytest.raises(InvalidSetting, match=word) as caught:
        settings_of(app)
    assert caught.value.hint


def test_store_comes_from_the_environment_without_the_setting(monkeypatch):
    app = Celery("proj", broker="memory://", set_as_current=False)
    monkeypatch.delenv("KRON_STORE", raising=False)
    with pytest.raises(InvalidSetting, match="no kron_store") as caught:
        settings_of(app)
    assert "app.conf.kron_store" in caught.value.hint
    monkeypatch.setenv("KRON_STORE", "sqlite:other.db")
    assert settings_of(app).store == "sqlite:other.db"


def test_settings_of_a_django_namespace_are_read():
    app = Celery("proj", set_as_current=False)
    app.config_from_object({"CELERY_KRON_STORE": "sqlite:django.db", "CELERY_KRON_NAME": "site"}, namespace="CELERY")
    settings = settings_of(app)
    assert (settings.store, settings.name) == ("sqlite:django.db", "site")


async def revisions(registrar):
    return {state.job.name: state.revision for state in await registrar.schedules("celery/")}


async def registered():
    """Two applications and a job of another owner in one store."""
    registrar = Registrar(MemoryStore(ManualClock(1_000_000.0)))
    await register(registrar, "celery/proj/", [job(name="a"), job(name="b")])
    await register(registrar, "celery/shop/", [job(app_of("shop"), name="c")])
    return registrar


async def same_again():
    registrar = await registered()
    before = await revisions(registrar)
    await register(registrar, "celery/proj/", [job(name="a"), job(name="b")])
    return before, await revisions(registrar)


async def changed():
    registrar = await registered()
    await register(registrar, "celery/proj/", [job(name="a", schedule=60), job(name="d")])
    return await revisions(registrar)


def test_same_entries_registered_again_change_nothing():
    before, after = asyncio.run(same_again())
    assert before == after == {"a": 1, "b": 1, "c": 1}


def test_changed_entries_are_edited_and_vanished_ones_removed():
    assert asyncio.run(changed()) == {"a": 2, "c": 1, "d": 1}


REFUSED = """
from celery import Celery
app = Celery("refused", broker="memory://")
app.conf.kron_store = "sqlite:beat.db"
app.conf.beat_schedule = {"e": {"task": "x", "schedule": 0.5}}
"""


@pytest.mark.slow
def test_beat_that_refuses_an_entry_says_why_in_two_lines(tmp_path):
    (tmp_path / "refused.py").write_text(REFUSED, encoding="utf-8")
    words = [sys.executable, "-m", "celery", "-A", "refused", "beat", "-S", "kron.integrations.celery:Scheduler"]
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 1
    reason, hint = result.stderr.splitlines()[-2:]
    assert reason.endswith("] error[BAD_DURATION]: entry 'e' has an interval of 0.5 s")
    assert hint == "  hint: use whole seconds, at least 1"
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "beat.db").exists()
